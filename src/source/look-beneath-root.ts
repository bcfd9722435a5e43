import { setTimeout as sleep } from 'node:timers/promises';
import { SourceError } from '../core/errors.ts';
import { reach } from '../core/failpoint.ts';
import { quote } from '../core/quote.ts';
import { readSignature, type ReadFile, type View } from './listed-file.ts';
import type { LookRequest, LookStep } from './look-steps.ts';
import { Neighbours } from './neighbours.ts';
import { openRootHere } from './open-root-here.ts';
import type { Place } from './place.ts';
import { readPatiently, type Patience } from './read-patiently.ts';
import { endRoot, openRoot } from './root-end.ts';

/** How a look goes about its work; tests change it. */
export interface LookHabits {
  readonly openRoot: (path: string) => Place;
  /** Waits before files that changed during the look are read once more, in milliseconds; after the last it gives up. */
  readonly rereadMs: readonly number[];
  readonly patience: Patience;
}

const usualHabits: LookHabits = {
  openRoot: openRootHere,
  rereadMs: [0, 5, 20, 60, 150],
  patience: { pausesMs: [50, 150, 400], sleep },
};

/**
 * Reads the files of one look in this process, one after another, and tells each step as it is taken (K-006).
 *
 * At the end every file that was read, or was not there, is looked up by its name once more: where nothing changed
 * since it was read there was a moment at which the folder held exactly what is answered. What did change is read
 * again. A change that no comparison of times can see is left to the caller's second look (G9, finding 6).
 *
 * Throws `SourceError` `retry` where files keep changing or the root was exchanged, and the system's error where this
 * process itself is in trouble (`EMFILE`, …).
 */
export async function* lookBeneathRoot(
  request: LookRequest,
  habits: Partial<LookHabits> = {},
): AsyncGenerator<LookStep, void, void> {
  const { rereadMs, patience, ...how } = { ...usualHabits, ...habits };
  const opened = openRoot(request.root, how.openRoot);
  if ('root' in opened) return yield { kind: 'end', end: opened };
  using root = opened;
  const pass = new Pass(request, { ...request, root, rootSpellings: [request.root] }, patience);
  for (const pauseMs of rereadMs) {
    if (pauseMs > 0) await patience.sleep(pauseMs);
    yield* pass.read();
    yield* pass.check();
    if (pass.pending.length === 0) {
      return yield { kind: 'end', end: endRoot(request.root, root, pass.anyPresent) };
    }
  }
  throw new SourceError('retry', `${quote(pass.pending[0] ?? '', 400)} kept changing while it was read.`);
}

/** The files of one look, read as often as it takes. */
class Pass {
  readonly #request: LookRequest;
  readonly #view: View;
  readonly #patience: Patience;
  readonly #files: (ReadFile | null)[];

  constructor(request: LookRequest, view: View, patience: Patience) {
    this.#request = request;
    this.#view = view;
    this.#patience = patience;
    this.#files = request.paths.map(() => null);
  }

  /** The paths still to be read. */
  get pending(): readonly string[] {
    return this.#request.paths.filter((_, index) => this.#files[index] === null);
  }

  get anyPresent(): boolean {
    return this.#files.some((file) => file?.look.state === 'present');
  }

  async *read(): AsyncGenerator<LookStep, void, void> {
    const { paths, hosts } = this.#request;
    // A new one for each pass, since it remembers the folders it has listed.
    const neighbours = new Neighbours(this.#view, { listed: new Set(paths), hosts });
    for (const [index, path] of paths.entries()) {
      if (this.#files[index] !== null) continue;
      yield { kind: 'reading', index };
      const file = await readPatiently(path, this.#view, this.#patience);
      this.#files[index] = file;
      if (file !== null) yield { kind: 'file', index, ...tell(file, neighbours) };
      reach('between files');
    }
  }

  /** Forgets every file whose name does not lead to what was read any more. */
  *check(): Generator<LookStep, void, void> {
    for (const [index, file] of this.#files.entries()) {
      // Often enough that a long package on a slow disk is not taken for stuck.
      if (index % 20 === 0) yield { kind: 'checking' };
      if (file !== null && !isUnchanged(file, this.#view)) this.#files[index] = null;
    }
  }
}

function tell(
  file: ReadFile,
  neighbours: Neighbours,
): Pick<Extract<LookStep, { kind: 'file' }>, 'look' | 'notices'> {
  const findings = neighbours.about(file);
  return file.look.state === 'absent'
    ? { look: { ...file.look, hints: findings }, notices: [] }
    : { look: file.look, notices: findings };
}

function isUnchanged(file: ReadFile, view: View): boolean {
  if (file.signature === null) return true;
  try {
    return readSignature(file.look.relativePath, view) === file.signature;
  } catch {
    // Whatever stands in the way now is found out, and named, by reading it again.
    return false;
  }
}
