import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { FileDefinition } from '../core/package.ts';
import type { LocalLook } from './look-steps.ts';
import { ReaderPool, type ReaderPoolLimits } from './reader-pool.ts';
import type { ReaderStatus } from './reader-process.ts';
import type { LookOptions, Source } from './source.ts';

export interface LocalSourceOptions {
  /** The folder the registry's paths start from; a relative path counts from where the process was started. */
  readonly root: string;
  /** Further names of machines that write into the folder, for telling conflict copies; this machine's is known. */
  readonly hosts?: readonly string[];
  readonly limits?: Partial<ReaderPoolLimits>;
}

/** A source on this machine's disks; its looks also say which folder they were read from. */
export interface LocalSource extends Source {
  readonly type: 'local';
  /** The processes that read for this source. */
  readonly readers: readonly ReaderStatus[];
  look(files: readonly Pick<FileDefinition, 'relativePath'>[], options: LookOptions): Promise<LocalLook>;
}

/**
 * The source `local`: exactly the listed paths below one folder, read by processes that can be killed, never anything
 * outside it (K-006, T11). A look at no files answers for the root alone. Closing leaves no process behind.
 */
export function openLocalSource(options: LocalSourceOptions): LocalSource {
  const root = resolve(options.root);
  const pool = new ReaderPool(options.limits);
  const own = hostname();
  const hosts = [own, own.replace(/\..*$/, ''), ...(options.hosts ?? [])];
  return {
    type: 'local',
    looksAtOnce: 1,
    get readers() {
      return pool.readers;
    },
    look: (files, { withContent, maxFileBytes }) =>
      pool.look({ root, paths: files.map((file) => file.relativePath), withContent, maxFileBytes, hosts }),
    [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
  };
}
