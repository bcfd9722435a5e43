import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { KnowledgeError } from '../core/errors.ts';
import type { ChildMessage } from './lifetime.ts';

/** One of our own processes; closing it asks it to stop, and ends it when it does not. */
export class Child implements AsyncDisposable {
  readonly ready: Promise<Extract<ChildMessage, { type: 'ready' }>>;
  /** Resolves, with words, when it ends. */
  readonly failed: Promise<string>;
  readonly #process: ChildProcess;

  static start(command: 'serve' | 'daemon', env: NodeJS.ProcessEnv, onLine?: (text: string) => void): Child {
    return new Child(command, env, onLine ?? (() => undefined));
  }

  private constructor(command: 'serve' | 'daemon', env: NodeJS.ProcessEnv, onLine: (text: string) => void) {
    // A session of its own: Ctrl-C reaches this process, which stops the others in order.
    this.#process = fork(fileURLToPath(new URL('agent-knowledge.mjs', import.meta.url)), [command], {
      env,
      execPath: process.execPath,
      detached: true,
    });
    const { promise, resolve, reject } = Promise.withResolvers<Extract<ChildMessage, { type: 'ready' }>>();
    this.ready = promise;
    this.ready.catch(() => undefined); // Who waits for it is told; nobody else needs to be.
    this.#process.on('message', (message) => {
      const told = message as ChildMessage;
      if (told.type === 'ready') resolve(told);
      else onLine(told.text);
    });
    this.failed = new Promise((ended) => {
      this.#process.on('exit', (code, signal) => {
        const words = `${command} ended with ${signal ?? `exit code ${code}`}.`;
        reject(new KnowledgeError('UNAVAILABLE', `${words} Its own words stand above.`));
        ended(words);
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill('SIGTERM');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), 15_000);
    await this.failed;
    clearTimeout(timer);
  }
}
