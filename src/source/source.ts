import type { PackageLook } from '../core/look.ts';
import type { FileDefinition, SourceType } from '../core/package.ts';

export interface LookOptions {
  /** False: checksums only, for a look that expects no change. */
  readonly withContent: boolean;
  /** Bytes per file; a longer file is refused as `too_large` after reading one byte more than this (K-084). */
  readonly maxFileBytes: number;
  /** True for one of the many looks of the safety net: it may wait for its turn, so that what is new comes first. */
  readonly isRoutine?: boolean;
}

/**
 * Where knowledge comes from: one look reads the listed files of one package and nothing else. A look has no memory
 * and changes nothing at the source.
 *
 * Throws `SourceError` where the source could not answer (a dead reader, a lost connection); what was found, however
 * bad, is a `PackageLook`.
 */
export interface Source extends AsyncDisposable {
  readonly type: SourceType;
  /** How many looks gain by being under way at once. */
  readonly looksAtOnce: number;
  look(files: readonly FileDefinition[], options: LookOptions): Promise<PackageLook>;
}
