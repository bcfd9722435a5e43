import { spawn, type ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The entry of every command, as `npm start` runs it. */
export const entry = fileURLToPath(new URL('../../src/main/agent-knowledge.mjs', import.meta.url));

/** An ordinary user to try things as where the suite runs as root; null where it is an ordinary user already. */
export const ordinaryUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : null;

export interface RunningCommand extends AsyncDisposable {
  readonly process: ChildProcess;
  /** Everything it has written so far. */
  readonly stdout: () => string;
  readonly stderr: () => string;
  /** Resolves with the first match in its standard output; rejects with all it wrote when it ends or takes too long. */
  until(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray>;
  /** Sends a signal and resolves with the exit code when it has ended. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
  readonly ended: Promise<number | null>;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly user?: { readonly uid: number; readonly gid: number } | null;
  /** A command that starts the one to be run, whose words follow its own. */
  readonly through?: readonly [string, ...string[]];
}

/** Runs a command of the product as a real process with a bare environment: no LANG, no HOME, nothing of ours. */
export function runCommand(args: readonly string[], options: CommandOptions = {}): RunningCommand {
  const [program, ...words] = [...(options.through ?? []), process.execPath, entry, ...args] as const;
  const child = spawn(program, words, {
    env: { PATH: process.env['PATH'], ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    ...(options.cwd ? { cwd: options.cwd } : {}),
    ...options.user,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const ended = new Promise<number | null>((resolve) => child.on('exit', (code) => resolve(code)));
  const running: RunningCommand = {
    process: child,
    stdout: () => stdout,
    stderr: () => stderr,
    ended,
    until: (pattern, timeoutMs = 30_000) => untilMatch(running, pattern, timeoutMs),
    async end(signal = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return ended;
    },
    async [Symbol.asyncDispose]() {
      await running.end('SIGKILL');
    },
  };
  return running;
}

async function untilMatch(
  running: RunningCommand,
  pattern: RegExp,
  timeoutMs: number,
): Promise<RegExpExecArray> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const match = pattern.exec(running.stdout());
    if (match) return match;
    const over = running.process.exitCode !== null || running.process.signalCode !== null;
    if (over || Date.now() > deadline) {
      throw new Error(
        `No ${pattern} from the command.\nstdout:\n${running.stdout()}\nstderr:\n${running.stderr()}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Resolves with the first match in its log; rejects with all of it when the process ends before. */
export async function untilSaid(
  command: RunningCommand,
  pattern: RegExp,
  timeoutMs = 60_000,
): Promise<RegExpExecArray> {
  const said = await eventually(
    async () => ({ match: pattern.exec(command.stderr()), over: hasEnded(command) }),
    ({ match, over }) => match !== null || over,
    timeoutMs,
  );
  if (said.match) return said.match;
  throw new Error(`The process ended before it said ${pattern}:\n${command.stderr()}`);
}

export function hasEnded({ process }: RunningCommand): boolean {
  return process.exitCode !== null || process.signalCode !== null;
}

/** Runs a command to its end. */
export async function runToEnd(
  args: readonly string[],
  options: CommandOptions = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const running = runCommand(args, options);
  const code = await running.ended;
  return { code, stdout: running.stdout(), stderr: running.stderr() };
}

/** Asks a GraphQL server with the admin key of a data folder; throws what it refuses. */
export async function askGraphql<T>(server: { url: string; dataDir: string }, query: string): Promise<T> {
  const key = await readFile(join(server.dataDir, 'admin-key'), 'utf8');
  const response = await fetch(server.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify({ query }),
  });
  const answer = (await response.json()) as { data?: T; errors?: { message: string }[] };
  if (!answer.data || answer.errors) throw new Error(JSON.stringify(answer.errors ?? answer));
  return answer.data;
}

/** Polls until the question answers what it should. */
export async function eventually<T>(
  ask: () => Promise<T>,
  isRight: (answer: T) => boolean,
  timeoutMs = 20_000,
  everyMs = 50,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask().catch((error: unknown) => error as T);
    if (!(answer instanceof Error) && isRight(answer)) return answer;
    if (Date.now() > deadline)
      throw new Error(
        `Not in time; the last answer was ${answer instanceof Error ? answer.message : JSON.stringify(answer)}`,
      );
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** The ids of all processes whose command line or environment names this text. */
export async function processesNaming(text: string): Promise<number[]> {
  const { readdir } = await import('node:fs/promises');
  const found = [];
  for (const id of (await readdir('/proc')).filter((name) => /^[0-9]+$/.test(name))) {
    const line = await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '');
    const environment = await readFile(`/proc/${id}/environ`, 'utf8').catch(() => '');
    if (Number(id) !== process.pid && (line.includes(text) || environment.includes(text)))
      found.push(Number(id));
  }
  return found;
}
