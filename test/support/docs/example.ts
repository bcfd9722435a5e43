import { spawn, spawnSync } from 'node:child_process';
import { eventually } from '../processes.ts';
import { projectRoot } from './clone.ts';

/** The examples as their readers start them: words of a command line, from the project's folder. */
export const examples = {
  typescript: [process.execPath, 'docs/examples/runtime.ts'],
  python: ['-u', 'docs/examples/runtime.py'],
} as const;

/** A Python on this machine that can run these words; null where there is none. */
export function findPython(words: readonly string[]): string | null {
  const pythons = ['python3', '/usr/bin/python3'];
  return pythons.find((python) => spawnSync(python, words).status === 0) ?? null;
}

/** A program that runs until it is asked to end. */
export interface RunningExample extends AsyncDisposable {
  /** Everything it has printed so far. */
  readonly said: () => string;
  /** Resolves when it has printed this, behind what it had printed when it was asked before. */
  until(pattern: RegExp): Promise<void>;
  /** Presses Ctrl-C and resolves with the exit code. */
  interrupt(): Promise<number | null>;
}

/** Starts an example with these variables and nothing else of ours. */
export function runExample(
  [program = '', ...words]: readonly string[],
  env: Readonly<Record<string, string>>,
): RunningExample {
  const child = spawn(program, words, {
    cwd: projectRoot,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
  });
  const ended = new Promise<number | null>((resolve) => child.on('exit', (code) => resolve(code)));
  let said = '';
  let heard = 0;
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  }
  return {
    said: () => said,
    async until(pattern) {
      const behind = await eventually(
        async () => pattern.exec(said.slice(heard)),
        (match) => match !== null,
        60_000,
      ).catch((error: unknown) => {
        throw new Error(`The example did not print ${pattern}. It printed:\n${said}`, { cause: error });
      });
      if (behind !== null) heard += behind.index + behind[0].length;
    },
    async interrupt() {
      child.kill('SIGINT');
      return ended;
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
