import { spawn } from 'node:child_process';
import { entry, eventually } from './processes.ts';

const escape = '\u001b';

/** A program on a pseudo terminal. */
export interface OnTerminal extends AsyncDisposable {
  /** Everything the terminal was told so far, escapes included. */
  readonly shown: () => string;
  /** What a person types; `\u0003` is Ctrl-C. */
  type(text: string): void;
  /** Resolves with all that was shown once it holds the pattern; rejects with it where the program ends before or it takes too long. */
  until(pattern: RegExp, timeoutMs?: number): Promise<string>;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
}

/** Runs a command of the product on a terminal of so many columns, with a bare environment. */
export function runOnTerminal(
  args: readonly string[],
  options: { readonly columns: number; readonly env?: Readonly<Record<string, string>> },
): OnTerminal {
  const words = [process.execPath, entry, ...args].map(
    (word) => `'${word.replaceAll("'", String.raw`'\''`)}'`,
  );
  return onTerminal(`stty cols ${options.columns} rows 40; exec ${words.join(' ')}`, options.env ?? {});
}

/** One letter, or one command to the terminal. */
const pieces = new RegExp(String.raw`${escape}(?:\[[0-9;?]*([A-Za-z])|[78])|[^]`, 'gu');

/** What stands on a terminal after all this was shown, line by line, without colours: as far as it moves within a line. */
export function screenOf(shown: string): string[] {
  return shown.split('\n').map((line) => {
    let [cells, column]: [string[], number] = [[], 0];
    for (const [piece, command] of line.matchAll(pieces)) {
      if (piece === '\r' || command === 'G') column = 0;
      else if (command === 'K') cells = piece.includes('2') ? [] : cells.slice(0, column);
      else if (command === 'J') cells = cells.slice(0, column);
      else if (!piece.startsWith(escape)) cells[column++] = piece;
    }
    return [...cells]
      .map((cell) => cell ?? ' ')
      .join('')
      .trimEnd();
  });
}

/** A real bash that reads no start-up file. */
export function shellOnTerminal(env: Readonly<Record<string, string>>): OnTerminal {
  return onTerminal('stty cols 200 rows 40; exec bash --norc --noprofile -i', env);
}

function onTerminal(command: string, env: Readonly<Record<string, string>>): OnTerminal {
  // `script` gives its child a terminal of its own and passes on what is typed.
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { PATH: process.env['PATH'], TERM: 'xterm', SHELL: '/bin/sh', ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text));
  child.stdin.on('error', () => undefined); // It has ended; whoever waits for it is told so.
  const ended = new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)));
  const isOver = () => child.exitCode !== null || child.signalCode !== null;
  return {
    shown: () => shown,
    ended,
    type: (text) => void child.stdin.write(text),
    async until(pattern, timeoutMs = 60_000) {
      await eventually(async () => pattern.test(shown) || isOver(), Boolean, timeoutMs).catch(
        () => undefined,
      );
      if (!pattern.test(shown))
        throw new Error(`The terminal was not told ${pattern}:\n${JSON.stringify(shown)}`);
      return shown;
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end();
      if (!isOver()) child.kill('SIGTERM');
      await ended;
    },
  };
}
