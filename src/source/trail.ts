import { isAbsolute } from 'node:path';
import { PlaceChanged, type Place } from './place.ts';

/** Folders held open at once; a listed path has at most 200, only links lead deeper. */
export const maxFolders = 256;

/** The folders between the root and where a walk is, all held open, so that `..` needs no name and no trust. */
export class Trail implements Disposable {
  readonly #root: Place;
  readonly #folders: Place[] = [];

  constructor(root: Place) {
    this.#root = root;
  }

  get here(): Place {
    return this.#folders.at(-1) ?? this.#root;
  }

  /** False, and the folder let go, where the trail would become too long. */
  goInto(folder: Place): boolean {
    if (this.#folders.length < maxFolders) return this.#folders.push(folder) > 0;
    folder[Symbol.dispose]();
    return false;
  }

  /** False at the root, above which nothing is ours. */
  goBack(): boolean {
    const left = this.#folders.pop();
    left?.[Symbol.dispose]();
    return left !== undefined;
  }

  /**
   * The segments the link `name` adds to the way from `here`, or null for a target outside the root.
   *
   * An absolute target is compared by spelling with the root's own path, now and as the operator wrote it, and then
   * goes on from the root: a wrong guess can only end at another place below it.
   */
  followLink(name: string, rootSpellings: readonly string[]): string[] | null {
    const target = readLink(this.here, name);
    if (!isAbsolute(target)) return segmentsOf(target);
    const roots = [this.#root.realPath(), ...rootSpellings].map(segmentsOf);
    const segments = segmentsOf(target);
    const root = roots.find((spelling) => spelling.every((segment, index) => segment === segments[index]));
    if (root === undefined) return null;
    this[Symbol.dispose]();
    return segments.slice(root.length);
  }

  /** Back to the root, everything else let go. */
  [Symbol.dispose](): void {
    while (this.goBack());
  }
}

function readLink(folder: Place, name: string): string {
  try {
    return folder.readLink(name);
  } catch (cause) {
    // It was a link a moment ago.
    throw new PlaceChanged(name, { cause });
  }
}

function segmentsOf(path: string): string[] {
  return path.split(process.platform === 'win32' ? /[/\\]/ : '/').filter((segment) => segment !== '');
}
