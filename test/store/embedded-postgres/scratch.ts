import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { Client, type QueryResultRow } from 'pg';
import { canReach, isRoot, type SystemUser } from '../../../src/store/embedded-postgres/system-user.ts';

const run = promisify(execFile);
const projectRoot = fileURLToPath(new URL('../../..', import.meta.url));

/** A folder of the test's own that the server's user can pass through; at the end every server in it must be gone. */
export interface Scratch extends AsyncDisposable {
  readonly folder: string;
}

export async function makeScratch(): Promise<Scratch> {
  const folder = await mkdtemp(path.join(tmpdir(), 'embedded-postgres-'));
  await chmod(folder, 0o755);
  return {
    folder,
    async [Symbol.asyncDispose]() {
      const left = (await processList()).filter(({ command }) => command.includes(folder));
      for (const { pid } of left) {
        process.kill(pid, 'SIGKILL');
      }
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      if (left.length > 0) {
        throw new Error(`left running: ${left.map(({ command }) => command).join('\n')}`);
      }
    },
  };
}

export async function processList(): Promise<{ pid: number; command: string }[]> {
  const { stdout } = await run('ps', ['-axww', '-o', 'pid=,command='], { maxBuffer: 16_777_216 });
  return stdout.split('\n').map((line) => {
    const [, pid, command = ''] = /^\s*(\d+) (.*)$/.exec(line) ?? [];
    return { pid: Number(pid), command };
  });
}

export async function query<Row extends QueryResultRow>(url: string, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The superuser's address, which the product hands to nobody. */
export async function superuserUrl(dataDir: string): Promise<string> {
  const record = JSON.parse(await readFile(path.join(dataDir, 'postgres.json'), 'utf8')) as {
    port: number;
    database: string;
    superuser: { user: string; password: string };
  };
  const { port, database, superuser } = record;
  return `postgresql://${superuser.user}:${superuser.password}@127.0.0.1:${port}/${database}`;
}

/** What a starting process reports: its server, or why there is none. */
export interface ChildReport {
  readonly pid?: number;
  readonly adopted?: boolean;
  readonly firstStart?: boolean;
  readonly adminUrl?: string;
  readonly error?: string;
}

const childProgram = `
const { startEmbeddedPostgres } = await import(process.argv[1]);
let report;
try {
  const { pid, adopted, firstStart, adminUrl } = await startEmbeddedPostgres({ dataDir: process.argv[2] });
  report = { pid, adopted, firstStart, adminUrl };
} catch (error) {
  report = { error: error.message };
}
process.stdout.write(JSON.stringify(report) + '\\n');
setInterval(() => undefined, 60_000);
`;

/** A process of its own that starts the server and then waits to be killed; `report` never comes if it is killed first. */
export async function startInChild(
  dataDir: string,
  as?: { user: SystemUser; scratch: Scratch },
): Promise<{ child: ChildProcess; report: Promise<ChildReport> }> {
  const { node, module } = as ? await toolsFor(as.user, as.scratch) : ownTools;
  const child = spawn(
    node,
    ['--input-type=module', '-e', childProgram, pathToFileURL(module).href, dataDir],
    {
      cwd: '/',
      stdio: ['ignore', 'pipe', 'inherit'],
      ...(as && isRoot() ? { uid: as.user.uid, gid: as.user.gid } : {}),
    },
  );
  return { child, report: readReport(child) };
}

async function readReport(child: ChildProcess): Promise<ChildReport> {
  const [line] = (await once(createInterface({ input: child.stdout! }), 'line')) as [string];
  return JSON.parse(line) as ChildReport;
}

export async function killHard(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
}

const ownTools = {
  node: process.execPath,
  module: path.join(projectRoot, 'src/store/embedded-postgres.ts'),
};

/** Node and the module where another user can read them: in place, or copied where the checkout is closed to it. */
async function toolsFor(user: SystemUser, scratch: Scratch): Promise<{ node: string; module: string }> {
  if (
    !isRoot() ||
    ((await canReach(user, projectRoot)) && (await canReach(user, path.dirname(process.execPath))))
  ) {
    return ownTools;
  }
  return await copyTools(await mkdtemp(path.join(scratch.folder, 'tools-')));
}

/** Copies what the module needs, and nothing else of the checkout, for everybody to read at any umask. */
async function copyTools(target: string): Promise<{ node: string; module: string }> {
  await cp(process.execPath, path.join(target, 'node'));
  for (const file of ['package.json', 'src/store/embedded-postgres.ts', 'src/store/embedded-postgres']) {
    await cp(path.join(projectRoot, file), path.join(target, file), { recursive: true });
  }
  for (const name of ['pg', 'zod', `@embedded-postgres/${process.platform}-${process.arch}`]) {
    await copyPackage(name, target);
  }
  await chmod(target, 0o755);
  for (const entry of await readdir(target, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) {
      await chmod(path.join(entry.parentPath, entry.name), 0o755);
    }
  }
  return { node: path.join(target, 'node'), module: path.join(target, 'src/store/embedded-postgres.ts') };
}

async function copyPackage(name: string, target: string): Promise<void> {
  const [from, to] = [path.join(projectRoot, 'node_modules', name), path.join(target, 'node_modules', name)];
  await cp(from, to, { recursive: true, verbatimSymlinks: true });
  const files = (await readdir(to, { recursive: true })).filter(
    (file) => path.basename(file) === 'package.json',
  );
  for (const file of files) {
    const { dependencies = {} } = JSON.parse(await readFile(path.join(to, file), 'utf8')) as {
      dependencies?: Record<string, string>;
    };
    for (const dependency of Object.keys(dependencies)) {
      const isShared = await stat(path.join(projectRoot, 'node_modules', dependency)).catch(() => null);
      if (isShared && !(await stat(path.join(target, 'node_modules', dependency)).catch(() => null))) {
        await copyPackage(dependency, target);
      }
    }
  }
}

/** A folder that belongs to the user, for a root that prepares it; for others their own. */
export async function makeFolder(folder: string, user: SystemUser | null): Promise<string> {
  await mkdir(folder, { mode: 0o700 });
  if (user !== null) {
    await chown(folder, user.uid, user.gid);
  }
  return folder;
}

/** A user who is neither root nor, under root, ourselves. */
export async function ordinaryUser(): Promise<SystemUser> {
  if (!isRoot()) {
    return { uid: process.getuid!(), gid: process.getgid!(), name: 'myself' };
  }
  const { stdout } = await run('id', ['-g', 'nobody']);
  return { uid: Number((await run('id', ['-u', 'nobody'])).stdout), gid: Number(stdout), name: 'nobody' };
}
