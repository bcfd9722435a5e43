import { basename, resolve } from 'node:path';
import { SourceError } from '../core/errors.ts';
import { counted } from '../core/count.ts';
import type { FolderSurvey, LeftOut } from '../core/propose-registry.ts';
import { checkRelativePath } from '../core/registry/relative-path.ts';
import { walkBeneath } from './beneath-root.ts';
import { findConflictCopies, passingName } from './odd-names.ts';
import { openRootHere } from './open-root-here.ts';
import { PlaceChanged, type Place } from './place.ts';
import { openRoot } from './root-end.ts';
import { errorCode, isOwnTrouble } from './system-error.ts';

export interface SurveyLimits {
  readonly maxFileBytes: number;
  /** Folders below each other that are gone into. */
  readonly maxDepth: number;
  /** Names that are looked at in all. */
  readonly maxEntries: number;
  /** Paths of which a person is told why they are left out. */
  readonly maxLeftOut: number;
}

export const usualSurveyLimits = { maxDepth: 24, maxEntries: 20_000, maxLeftOut: 500 };

/**
 * Walks through a folder and names every Markdown file that a registry could list, with what it left out and why. Reads
 * names and sizes only, follows no link into a folder, and stops at its limits, so that a huge or looping folder ends.
 *
 * Throws `SourceError` where the folder cannot be opened.
 */
export function surveyFolder(path: string, limits: SurveyLimits): FolderSurvey {
  const opened = openRoot(path, openRootHere);
  if ('root' in opened) throw new SourceError('stop', opened.root === 'trouble' ? opened.message : path);
  using root = opened;
  const survey = new Survey(root, path, limits);
  survey.walk(root, '', 1);
  return survey.result();
}

class Survey {
  readonly #root: Place;
  readonly #path: string;
  readonly #limits: SurveyLimits;
  readonly #files: { relativePath: string; sizeBytes: number }[] = [];
  readonly #leftOut: LeftOut[] = [];
  #entriesLeft: number;
  #untold = 0;
  #others = 0;

  constructor(root: Place, path: string, limits: SurveyLimits) {
    this.#root = root;
    this.#path = path;
    this.#limits = limits;
    this.#entriesLeft = limits.maxEntries;
  }

  result(): FolderSurvey {
    const { maxEntries } = this.#limits;
    return {
      name: basename(resolve(this.#path)),
      files: this.#files,
      leftOut: this.#leftOut,
      notes: [
        ...(this.#others > 0
          ? [
              this.#others === 1
                ? '1 file that is not Markdown (.md, .markdown) was passed over.'
                : `${this.#others} files that are not Markdown (.md, .markdown) were passed over.`,
            ]
          : []),
        ...(this.#untold > 0
          ? [`Left out for reasons like these: ${counted(this.#untold, 'more name')}.`]
          : []),
        ...(this.#entriesLeft <= 0
          ? [`The folder holds more than ${maxEntries} names; what lies beyond was not looked at.`]
          : []),
      ],
    };
  }

  walk(folder: Place, prefix: string, depth: number): void {
    const names = this.#namesIn(folder, prefix);
    const copies = findConflictCopies(names);
    for (const name of names) {
      const path = `${prefix}${name}`;
      const reason = passingName(name) ?? ruleBrokenBy(path) ?? copies.get(name) ?? null;
      if (reason !== null) this.#leaveOut(path, reason);
      else this.#attempt(path, () => this.#visit(folder, name, { path, depth }));
    }
  }

  #namesIn(folder: Place, prefix: string): string[] {
    if (this.#entriesLeft <= 0) return [];
    let names: string[] = [];
    this.#attempt(prefix === '' ? '.' : prefix, () => {
      // One more than is left, so that the end of the budget is noticed.
      names = folder.list(this.#entriesLeft + 1).map((entry) => entry.name);
    });
    this.#entriesLeft -= names.length;
    return names.toSorted();
  }

  #visit(folder: Place, name: string, { path, depth }: { path: string; depth: number }): void {
    using place = folder.open(name);
    if (place.stats.isSymbolicLink()) return this.#visitLink(path);
    if (!place.stats.isDirectory()) return this.#take(path, place);
    if (depth < this.#limits.maxDepth) this.walk(place, `${path}/`, depth + 1);
    else this.#leaveOut(path, `lies more than ${this.#limits.maxDepth} folders deep`);
  }

  #visitLink(path: string): void {
    using walk = walkBeneath(this.#root, path, [this.#path]);
    if (walk.state === 'absent') this.#leaveOut(path, 'is a link that leads to nothing');
    else if (walk.state === 'refused') this.#leaveOut(path, 'is a link that leads out of the folder');
    else if (walk.place.stats.isDirectory())
      this.#leaveOut(path, 'is a link to a folder, which is not followed');
    else this.#take(path, walk.place);
  }

  #take(path: string, { stats }: Place): void {
    if (!/\.(?:md|markdown)$/i.test(path)) this.#others += 1;
    else if (!stats.isFile()) this.#leaveOut(path, 'is not a regular file');
    else if (stats.nlink > 1n)
      this.#leaveOut(path, 'has a second name (hard link), which may lie outside the folder');
    else if (stats.size > BigInt(this.#limits.maxFileBytes))
      this.#leaveOut(path, `has ${stats.size} bytes; at most ${this.#limits.maxFileBytes} are accepted`);
    else if (stats.size === 0n) this.#leaveOut(path, 'is empty');
    else this.#files.push({ relativePath: path, sizeBytes: Number(stats.size) });
  }

  /** What cannot be opened is left out with the system's word for it. */
  #attempt(path: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof PlaceChanged) return this.#leaveOut(path, 'changed while it was looked at');
      const code = errorCode(error);
      if (code === '' || isOwnTrouble(error)) throw error;
      this.#leaveOut(path, `cannot be opened (${code})`);
    }
  }

  #leaveOut(path: string, reason: string): void {
    if (this.#leftOut.length < this.#limits.maxLeftOut) this.#leftOut.push({ path, reason });
    else this.#untold += 1;
  }
}

function ruleBrokenBy(path: string): string | null {
  const fault = checkRelativePath(path);
  return fault === null ? null : `is a path that the registry refuses: it ${fault.reason}`;
}
