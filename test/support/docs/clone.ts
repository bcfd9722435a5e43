import { spawn } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project that is tested. */
export const projectRoot = fileURLToPath(new URL('../../../', import.meta.url));

/** What a clone has; `node_modules` is shared. */
const parts = [
  'README.md',
  'ARCHITECTURE.md',
  'LICENSE',
  'package.json',
  'config',
  'docs',
  'schema',
  'src',
  'daemon',
];

/** A clone of the project with `npm start` running in it, as a reader of the pages has before him. */
export interface StartedClone extends AsyncDisposable {
  /** Its folder, whose name is the one that `git clone` gives. */
  readonly folder: string;
  /** Where its server listens, without a path. */
  readonly url: string;
  /** Runs a script of `sh` in a folder, with everything it prints in one text. */
  run(script: string, cwd: string): Promise<{ readonly code: number | null; readonly output: string }>;
}

/**
 * `realNpx`: npx is npm's own. Else a few lines stand in its place that start the same files, since npm takes a second
 * for each.
 */
export async function startClone({ realNpx }: { readonly realNpx: boolean }): Promise<StartedClone> {
  await using stack = new AsyncDisposableStack();
  const place = await mkdtemp(join(tmpdir(), 'ak-docs-'));
  stack.defer(() => rm(place, { recursive: true, force: true, maxRetries: 10 }));
  await chmod(place, 0o755); // So that the database's user gets there.
  const folder = join(place, 'agent-knowledge');
  await mkdir(folder);
  for (const part of parts) await cp(join(projectRoot, part), join(folder, part), { recursive: true });
  await symlink(join(projectRoot, 'node_modules'), join(folder, 'node_modules'));
  const bin = join(place, 'bin');
  await mkdir(bin);
  if (!realNpx) await writeFile(join(bin, 'npx'), npx, { mode: 0o755 });
  const path = [bin, dirname(process.execPath), process.env['PATH']].join(delimiter);
  // `fast`, so that a busy machine has made a version when a page has slept for it.
  const env = { PATH: path, HOME: place, AGENT_KNOWLEDGE_SETTLE: 'fast' };
  const product = stack.use(await startProduct(folder, { ...env, AGENT_KNOWLEDGE_PORT: '0' }));
  const { url } = product;
  const own = {
    ...env,
    AGENT_KNOWLEDGE_PORT: new URL(url).port,
    KNOWLEDGE_URL: `${url}/graphql`,
  };
  const started = stack.move();
  return {
    folder,
    url,
    run: (script, cwd) => runScript(script, { cwd, env: own }),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

/** What npx does in a clone with the two words that the pages use it for. */
const npx = `#!/bin/sh
program=$1
shift
case $program in
  agent-knowledge) exec node src/main/agent-knowledge.mjs "$@" ;;
  node) exec node "$@" ;;
esac
echo "npx $program: the pages use it for agent-knowledge and node only" >&2
exit 64
`;

type Env = Readonly<Record<string, string>>;

async function startProduct(folder: string, env: Env): Promise<AsyncDisposable & { readonly url: string }> {
  const child = spawn(process.execPath, ['src/main/agent-knowledge.mjs', 'start'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.on('exit', () => resolve()));
  const ready = Promise.withResolvers<string>();
  let said = '';
  const hear = (text: string) => {
    said += text;
    const [, url] = /GraphQL\s+(http\S+)\/graphql[\s\S]*v1 is active/.exec(said) ?? [];
    if (url !== undefined) ready.resolve(url);
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', hear);
  void ended.then(() => ready.reject(new Error(`npm start ended before it was ready:\n${said}`)));
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  try {
    return { url: await ready.promise, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** No page takes longer than this, on however busy a machine. */
const timeoutMs = 120_000;

async function runScript(
  script: string,
  { cwd, env }: { readonly cwd: string; readonly env: Env },
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn('sh', ['-c', script], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const timer = setTimeout(() => child.pid !== undefined && process.kill(-child.pid, 'SIGKILL'), timeoutMs);
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  return { code, output };
}
