import { constants } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { lookBeneathRoot, type LookHabits } from '../../src/source/look-beneath-root.ts';
import { LookCollector, type LocalLook, type LookRequest } from '../../src/source/look-steps.ts';
import type { FileDefinition, RelativePath } from '../../src/core/package.ts';

/** What lies at a path: bytes, a link, or a folder of its own. */
export type Thing = string | Uint8Array | { readonly link: string } | { readonly folder: true };

export interface TemporaryFolder extends AsyncDisposable {
  /** The real path of a fresh folder, gone when disposed of. */
  readonly path: string;
  /** Where the knowledge lies: `<path>/root`. */
  readonly root: string;
  /** Puts one more thing at a path below `path`. */
  add(name: string, thing: Thing): Promise<void>;
}

/** A fresh folder that holds `things` by their path; `root/…` is below the root, everything else is outside it. */
export async function makeFolder(things: Readonly<Record<string, Thing>>): Promise<TemporaryFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'ak-')));
  await chmod(path, 0o755);
  for (const [name, thing] of Object.entries(things)) await put(path, name, thing);
  return {
    path,
    root: join(path, 'root'),
    add: (name, thing) => put(path, name, thing),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 10 }),
  };
}

/** Throws where a link that was put before leads out of the folder: what a test makes up must not reach the machine. */
async function put(folder: string, name: string, thing: Thing): Promise<void> {
  const path = join(folder, name);
  await assertInside(folder, dirname(path));
  await mkdir(dirname(path), { recursive: true });
  if (typeof thing === 'string' || thing instanceof Uint8Array) await writeThere(path, thing);
  else if ('link' in thing) await symlink(thing.link, path);
  else await mkdir(path);
}

async function writeThere(path: string, content: string | Uint8Array): Promise<void> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;
  await writeFile(path, content, { flag: flags as unknown as string });
}

async function assertInside(folder: string, parent: string): Promise<void> {
  let there = parent;
  while (!(await isThere(there))) there = dirname(there);
  const place = await realpath(there);
  if (place === folder || place.startsWith(`${folder}/`)) return;
  throw new Error(`${parent} leads out of the test's folder, to ${place}.`);
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** The definitions of files listed in this order, all required. */
export function listed(...paths: readonly string[]): FileDefinition[] {
  return paths.map((path, loadOrder) => ({ relativePath: path as RelativePath, loadOrder, required: true }));
}

/** A look in this process, without the children around it. */
export async function lookHere(
  request: Partial<LookRequest> & Pick<LookRequest, 'root'> & { readonly files: readonly string[] },
  habits: Partial<LookHabits> = {},
): Promise<LocalLook> {
  const paths = request.files as readonly RelativePath[];
  const whole = { withContent: true, maxFileBytes: 1_048_576, hosts: [], ...request, paths };
  const collector = new LookCollector(whole);
  for await (const step of lookBeneathRoot(whole, habits)) {
    const look = collector.take(step);
    if (look !== null) return look;
  }
  throw new Error('A look ended without its last step.');
}
