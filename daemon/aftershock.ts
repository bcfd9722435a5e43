import type { PackageLook } from '../src/core/look.ts';
import { aftershockFiles, type FastCapture, type SettleHint } from '../src/core/settle-window.ts';

/**
 * Remembers the last version of a package where it was captured after the short wait for a single file: another file
 * that changes right after it may belong to the same change, and the version may lack that half (`watching.md` 3.3).
 */
export class Aftershock {
  #fast: (FastCapture & { readonly number: number; readonly checksums: ReadonlyMap<string, string> }) | null =
    null;

  /** The capture that more of the same change may follow; null after any other. */
  get before(): FastCapture | null {
    return this.#fast;
  }

  /** A version was made of this look; `file` is the one it waited the short time for, null where it waited otherwise. */
  remember(version: {
    readonly number: number;
    readonly look: PackageLook;
    readonly at: number;
    readonly file: string | null;
  }): void {
    const { number, at, file } = version;
    this.#fast = file === null ? null : { at, file, number, checksums: checksumsOf(version.look) };
  }

  /** The number of the version before, where these hints and this look show that it may lack half of a change. */
  findTorn(hints: readonly SettleHint[], look: PackageLook): number | null {
    const fast = this.#fast;
    if (fast === null) return null;
    const now = checksumsOf(look);
    const changed = aftershockFiles(hints, fast).some((file) => now.get(file) !== fast.checksums.get(file));
    return changed ? fast.number : null;
  }
}

function checksumsOf(look: PackageLook): ReadonlyMap<string, string> {
  const files = look.root === 'present' ? look.files : [];
  return new Map(
    files.flatMap((file) => (file.state === 'present' ? [[file.relativePath, file.checksum]] : [])),
  );
}
