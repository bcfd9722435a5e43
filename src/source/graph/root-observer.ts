import type { RootSight } from '../../core/root-guard.ts';
import { GraphError } from './graph-error.ts';
import { identityOf, notAFolder } from './graph-look.ts';
import { isAboutPlace, placeMessage, rootTroubleMessage, toSourceError, withRequest } from './graph-words.ts';
import type { DriveLocation } from './item-path.ts';
import type { ItemAnswer } from './item-reader.ts';

export interface RootTools {
  readonly name: string;
  readonly locate: () => Promise<DriveLocation>;
  readonly readRoot: (location: DriveLocation) => Promise<ItemAnswer>;
  /** Whether a folder that says it has nothing in it really has nothing. */
  readonly isEmpty: (location: DriveLocation, root: ItemAnswer) => Promise<boolean>;
  /** The place led nowhere: it is to be found anew. */
  readonly onLost: () => void;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}

/** How long the service may be away before the root counts as out of reach, as for a disk that does not answer. */
const outageMs = 15_000;

/** Sees the root of a drive as the guard of roots wants it: what it says of an absent root is never that files were deleted. */
export class RootObserver {
  readonly #tools: RootTools;
  #last: RootSight | null = null;
  #awaySince: number | null = null;

  constructor(tools: RootTools) {
    this.#tools = tools;
  }

  /** Throws `SourceError` where nothing is known yet and the service did not answer. */
  async see(): Promise<RootSight> {
    try {
      const location = await this.#tools.locate();
      const answer = await this.#tools.readRoot(location);
      const sight = await this.#judge(location, answer);
      this.#awaySince = null;
      this.#last = sight;
      return sight;
    } catch (error) {
      return this.#seeTrouble(error);
    }
  }

  async #judge(location: DriveLocation, answer: ItemAnswer): Promise<RootSight> {
    const { name, isEmpty, onLost } = this.#tools;
    if (answer.state === 'refused') {
      onLost();
      return this.#absent(answer.codes[0] ?? `HTTP_${answer.status}`, rootTroubleMessage(name, answer));
    }
    const { item } = answer;
    if (item.kind !== 'folder' || item.deleted)
      return { path: name, folder: 'not_a_folder', message: notAFolder(name), place: null, files: new Map() };
    const folder = (await isEmpty(location, answer)) ? 'empty' : 'there';
    // Where it lies may change under a sharing link, and it is the same folder still.
    const place = { realPath: name, identity: identityOf(location, item) };
    return { path: name, folder, place, files: new Map() };
  }

  #seeTrouble(error: unknown): RootSight {
    if (!(error instanceof GraphError) || error.trouble === 'closed') throw toSourceError(error);
    if (isAboutPlace(error) || error.trouble === 'credentials') {
      this.#tools.onLost();
      this.#awaySince = null;
      this.#last = this.#absent(error.codes[0] ?? error.trouble, this.#messageOf(error));
      return this.#last;
    }
    // The service has asked for patience: that says nothing of the drive (T1).
    if (error.trouble === 'throttled' && this.#last !== null) return this.#last;
    this.#awaySince ??= this.#tools.now();
    if (this.#tools.now() - this.#awaySince >= outageMs)
      this.#last = this.#absent(
        error.trouble,
        `${this.#tools.name} cannot be reached. ${withRequest(error)}`,
      );
    if (this.#last === null) throw toSourceError(error);
    return this.#last;
  }

  #messageOf(error: GraphError): string {
    return error.trouble === 'credentials' ? withRequest(error) : placeMessage(this.#tools.name, error);
  }

  #absent(code: string, message: string): RootSight {
    return { path: this.#tools.name, folder: 'absent', code, message, place: null, files: new Map() };
  }
}
