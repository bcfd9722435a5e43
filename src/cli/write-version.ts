import { lstat, mkdir, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { bundleText, type BundleLine } from '../core/checksum.ts';
import { KnowledgeError } from '../core/errors.ts';
import { quote } from '../core/quote.ts';
import { noProgress, type Progress } from './output/progress.ts';
import { foldPath } from '../core/registry/relative-path.ts';

/** One file of a version with its exact bytes. */
export type WrittenFile = BundleLine & { readonly content: Uint8Array };

interface Target {
  readonly relativePath: string;
  readonly content: Uint8Array | string;
}

/**
 * Writes the files of a version at their relative paths below a folder, which is made where it is not there, and a
 * `SHA256SUMS` beside them, so that `sha256sum -c SHA256SUMS` passes and `sha256sum SHA256SUMS` is the checksum.
 *
 * Nothing is overwritten and nothing is written outside the folder, also where links lie in it: throws `CONFLICT`
 * naming what is in the way, before the first file is written.
 */
export async function writeVersion(
  folder: string,
  files: readonly WrittenFile[],
  progress: Pick<Progress, 'begin' | 'step'> = noProgress,
): Promise<void> {
  const targets: readonly Target[] = [...files, { relativePath: sumsName, content: bundleText(files) }];
  assertNoSums(files);
  if (folder === '') throw new KnowledgeError('BAD_USER_INPUT', '--out must name a folder; it is empty.');
  await makeFolders(resolve(folder));
  const root = await realpath(folder);
  for (const target of targets) await assertFree(root, target.relativePath);
  progress.begin(targets.length);
  for (const target of targets) {
    await writeNew(root, target);
    progress.step(target.relativePath);
  }
}

const sumsName = 'SHA256SUMS';

function assertNoSums(files: readonly WrittenFile[]): void {
  const own = files.find((file) => foldPath(file.relativePath) === foldPath(sumsName));
  if (own === undefined) return;
  throw inTheWay(`The package has a file ${quote(own.relativePath)} of its own`);
}

/** Nothing may lie at the path, and only real folders on the way to it. */
async function assertFree(root: string, relativePath: string): Promise<void> {
  const path = join(root, relativePath);
  if (!path.startsWith(withSeparator(root))) throw inTheWay(`${quote(path, 400)} is outside the folder`);
  const segments = relativePath.split('/');
  for (const [index] of segments.entries()) {
    const step = join(root, ...segments.slice(0, index + 1));
    const found = await lstat(step).catch(ignoreAbsent);
    if (found === null) return;
    const isLast = index === segments.length - 1;
    if (isLast) throw inTheWay(`${quote(step, 400)} exists already`);
    if (!found.isDirectory()) throw inTheWay(`${quote(step, 400)} is no folder`);
  }
}

async function writeNew(root: string, { relativePath, content }: Target): Promise<void> {
  const path = join(root, relativePath);
  await makeFolders(dirname(path));
  // Asked again, for a link that has come since.
  const parent = await realpath(dirname(path));
  if (!withSeparator(parent).startsWith(withSeparator(root))) {
    throw inTheWay(`${quote(dirname(path), 400)} leads out of the folder`);
  }
  await writeFile(path, content, { flag: 'wx' });
}

/** Folder by folder: Node's recursive mkdir never ends on a file system that denies a folder which it does not have, such as /proc. */
async function makeFolders(path: string): Promise<void> {
  const found = await stat(path).catch(ignoreAbsent);
  if (found?.isDirectory()) return;
  if (found !== null) throw inTheWay(`${quote(path, 400)} is no folder`);
  await makeFolders(dirname(path));
  try {
    await mkdir(path);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === 'EEXIST' && (await stat(path).catch(ignoreAbsent))?.isDirectory()) return;
    throw new KnowledgeError(
      'CONFLICT',
      `${quote(path, 400)} cannot be made (${code}). Choose another folder with --out.`,
      {
        cause: error,
      },
    );
  }
}

function withSeparator(folder: string): string {
  return folder.endsWith(sep) ? folder : folder + sep;
}

function ignoreAbsent(error: unknown): null {
  if (['ENOENT', 'ENOTDIR'].includes((error as { code?: string }).code ?? '')) return null;
  throw error;
}

function inTheWay(what: string): KnowledgeError {
  return new KnowledgeError('CONFLICT', `${what}; nothing was written over. Choose a new folder with --out.`);
}
