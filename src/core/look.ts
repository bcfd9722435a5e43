import type { FetchFaultCode, Finding } from './finding.ts';
import type { RelativePath, Sha256 } from './package.ts';

/** A file that was read whole: its exact bytes, or only their checksum where the bytes were not asked for. */
export interface PresentFile {
  readonly state: 'present';
  readonly relativePath: RelativePath;
  readonly checksum: Sha256;
  readonly sizeBytes: number;
  readonly content: Uint8Array | null;
}

/** Nothing by that name. Hints name what looks like it: another letter case, another Unicode form, a conflict copy. */
export interface AbsentFile {
  readonly state: 'absent';
  readonly relativePath: RelativePath;
  readonly hints: readonly Finding[];
}

/** Something is there that must not or cannot be read. */
export interface RefusedFile {
  readonly state: 'refused';
  readonly relativePath: RelativePath;
  readonly code:
    | Extract<FetchFaultCode, 'not_regular_file' | 'path_escapes_root' | 'unreadable' | 'not_downloaded'>
    | 'too_large';
  readonly message: string;
}

export type FileLook = PresentFile | AbsentFile | RefusedFile;

/**
 * One reading of the source for one package: everything it asked for in one pass, or trouble with the root, which is
 * never taken for deleted files.
 */
export type PackageLook =
  | {
      readonly root: 'present';
      /** Which folder it was read from, where the source can tell one from another. */
      readonly rootIdentity?: string | null;
      /** One per file asked for, in the order asked. */
      readonly files: readonly FileLook[];
      /** What a person should know that is about no single outcome: links inside the root, conflict copies. */
      readonly notices: readonly Finding[];
    }
  | {
      readonly root: 'trouble';
      readonly rootIdentity?: string | null;
      /** `unreadable`: the source could not answer at all. */
      readonly code: 'root_missing' | 'root_empty' | 'unreadable';
      readonly message: string;
    };
