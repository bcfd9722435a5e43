import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { KnowledgeError } from '../core/errors.ts';
import type { ChildMessage } from './lifetime.ts';
import type { ScreenLine } from './screen-line.ts';
import type { Part } from './supervisor.ts';

type Ready = Extract<ChildMessage, { type: 'ready' }>;

export interface ChildOptions {
  readonly command: 'serve' | 'daemon';
  readonly env: NodeJS.ProcessEnv;
  /** Hears what it has to tell a person. */
  readonly onLine: (line: ScreenLine) => void;
  /** Hears each line of its log. */
  readonly onLog: (line: string) => void;
}

/** What a person calls them. */
export const childNames = { serve: 'The API', daemon: 'The daemon' } as const;

/** Milliseconds that the last words of a process are waited for: its own children may hold its output open. */
const lastWordsMs = 1000;

/** One of our own processes; closing it asks it to stop, and ends it when it does not. */
export class Child implements Part {
  readonly ready: Promise<Ready>;
  readonly ended: Promise<string>;
  readonly #process: ChildProcess;

  private constructor({ command, env, onLine, onLog }: ChildOptions) {
    // A session of its own: Ctrl-C reaches this process, which stops the others in order.
    this.#process = fork(fileURLToPath(new URL('agent-knowledge.mjs', import.meta.url)), [command], {
      env,
      execPath: process.execPath,
      detached: true,
      stdio: ['inherit', 'inherit', 'pipe', 'ipc'],
    });
    const { promise, resolve, reject } = Promise.withResolvers<Ready>();
    this.ready = promise;
    this.ready.catch(() => undefined); // Who waits for it is told; nobody else needs to be.
    this.#process.on('message', (message) => {
      const told = message as ChildMessage;
      if (told.type === 'ready') resolve(told);
      else onLine(told);
    });
    const closed = once(this.#process, 'close');
    if (this.#process.stderr) createInterface({ input: this.#process.stderr }).on('line', onLog);
    this.ended = once(this.#process, 'exit').then(async ([code, signal]) => {
      await Promise.race([closed, sleep(lastWordsMs, undefined, { ref: false })]);
      const words = `${childNames[command]} ended with ${signal ?? `exit code ${code}`}.`;
      reject(new KnowledgeError('UNAVAILABLE', `${words} Its own words stand above.`));
      return words;
    });
  }

  /** Starts it and resolves when it works; rejects where it ends before that, or the signal comes. */
  static async start(options: ChildOptions, signal: AbortSignal): Promise<{ child: Child; ready: Ready }> {
    signal.throwIfAborted();
    const child = new Child(options);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = () => reject(new KnowledgeError('UNAVAILABLE', 'It was stopped before it worked.'));
    signal.addEventListener('abort', onAbort);
    try {
      return { child, ready: await Promise.race([child.ready, aborted]) };
    } catch (error) {
      await child[Symbol.asyncDispose]();
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill('SIGTERM');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), 15_000);
    await this.ended;
    clearTimeout(timer);
  }
}
