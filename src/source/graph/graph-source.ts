import { setTimeout as sleep } from 'node:timers/promises';
import type { KnownItem } from '../../core/drive-tree.ts';
import { SourceError } from '../../core/errors.ts';
import type { ItemMemory } from '../../core/item-memory.ts';
import type { PackageLook } from '../../core/look.ts';
import type { FileDefinition } from '../../core/package.ts';
import { unitsOfLook } from '../../core/resync-pace.ts';
import type { RootSight } from '../../core/root-guard.ts';
import type { LookOptions, Source } from '../source.ts';
import { ContentReader } from './content-reader.ts';
import { locateDrive } from './drive-location.ts';
import { GraphError } from './graph-error.ts';
import { lookInDrive, lostRoot, type LookTools } from './graph-look.ts';
import type { GraphPlace } from './graph-place.ts';
import { isAboutPlace, nameOfPlace, placeMessage, toSourceError } from './graph-words.ts';
import type { Graph } from './graph.ts';
import type { DriveLocation } from './item-path.ts';
import { KnownContents } from './known-contents.ts';
import type { MismatchHabits } from './mismatch.ts';
import { RootObserver } from './root-observer.ts';
import { UnitBudget } from './unit-budget.ts';
import { ViewReader } from './view-reader.ts';

export interface GraphSourceOptions {
  /** Whoever opened it closes it. */
  readonly graph: Graph;
  readonly place: Pick<GraphPlace, 'drive' | 'rootPath'>;
  readonly memory: ItemMemory;
  /** Ends every wait, as closing does. */
  readonly signal?: AbortSignal;
  /** For tests, which need not wait. */
  readonly habits?: Partial<SourceHabits>;
}

export interface SourceHabits {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** A folder of a drive in Microsoft 365. */
export interface GraphSource extends Source {
  readonly type: 'graph';
  look(files: readonly Pick<FileDefinition, 'relativePath'>[], options: LookOptions): Promise<PackageLook>;
  /** The root as the guard sees it. Throws `SourceError` where nothing is known yet and the service did not answer. */
  seeRoot(): Promise<RootSight>;
  /** The drive that the settings mean, found once and found anew when it has gone. Throws `GraphError`. */
  resolve(): Promise<DriveLocation>;
  /** The root's folder, the listed files and the folders on the way to them, as the looks so far have met them. */
  knownItems(): Promise<readonly KnownItem[]>;
}

/** Milliseconds after a look until what it has downloaded is stored in all likelihood. */
const persistMs = 1000;

/** A look gains by company: what several ask for goes out in one batch. */
const looksAtOnce = 20;

const usualHabits: SourceHabits = {
  now: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }),
};

/**
 * The source `graph`: exactly the listed paths below one folder of a drive, read only (K-006). Without settings it is inert: no
 * request leaves, and the root is missing, with the words of why (K-007).
 */
export function openGraphSource(options: GraphSourceOptions): GraphSource {
  return new DriveSource(options);
}

class DriveSource implements GraphSource {
  readonly type = 'graph';
  readonly looksAtOnce = looksAtOnce;
  readonly #options: GraphSourceOptions;
  readonly #closing = new AbortController();
  readonly #signal: AbortSignal;
  readonly #budget: UnitBudget;
  readonly #tools: LookTools;
  readonly #root: RootObserver;
  #location: Promise<DriveLocation> | null = null;
  #persisting: NodeJS.Timeout | null = null;

  constructor(options: GraphSourceOptions) {
    this.#options = options;
    const { graph, place, memory } = options;
    const { now, sleep } = { ...usualHabits, ...options.habits };
    const { signal } = this.#closing;
    this.#signal = options.signal ? AbortSignal.any([signal, options.signal]) : signal;
    this.#budget = new UnitBudget(this.#signal, now);
    const views = new ViewReader(graph, now);
    const known = new KnownContents(memory);
    const pause = (ms: number) => sleep(ms, this.#signal);
    const patience: MismatchHabits = { now, sleep: pause };
    const name = nameOfPlace(place);
    this.#tools = { name, views, known, contents: new ContentReader(graph, known, patience), pause };
    this.#root = new RootObserver({
      name,
      now,
      locate: () => this.resolve(),
      readRoot: (location) => views.readRoot(location),
      isEmpty: (location, root) => views.isEmpty(location, root),
      onLost: () => this.#forget(),
    });
  }

  async look(
    files: readonly Pick<FileDefinition, 'relativePath'>[],
    { withContent, maxFileBytes, isRoutine = false }: LookOptions,
  ): Promise<PackageLook> {
    const paths = files.map((file) => file.relativePath);
    try {
      this.#assertOpen();
      if (isRoutine) await this.#budget.take(unitsOfLook(paths.length));
      const location = await this.resolve();
      const look = await lookInDrive(this.#tools, { location, paths, withContent, maxFileBytes, isRoutine });
      if (look.root === 'trouble') this.#forget();
      else this.#persistSoon();
      return look;
    } catch (error) {
      return this.#lookAtTrouble(error);
    }
  }

  async seeRoot(): Promise<RootSight> {
    this.#assertOpen();
    return this.#root.see();
  }

  resolve(): Promise<DriveLocation> {
    const location = this.#location ?? locateDrive(this.#options.graph, this.#options.place);
    this.#location = location;
    location.catch(() => {
      if (this.#location === location) this.#location = null;
    });
    return location;
  }

  async knownItems(): Promise<readonly KnownItem[]> {
    return this.#tools.views.knownItems;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(closed());
    if (this.#persisting !== null) clearTimeout(this.#persisting);
    await this.#tools.known.persist();
  }

  #lookAtTrouble(error: unknown): PackageLook {
    if (this.#signal.aborted) throw closed();
    if (!(error instanceof GraphError) || !isAboutPlace(error)) throw toSourceError(error);
    this.#forget();
    return lostRoot(placeMessage(this.#tools.name, error));
  }

  /** What has been downloaded is stored only after its look; all that a moment brings is remembered together. */
  #persistSoon(): void {
    const { known } = this.#tools;
    if (this.#persisting !== null || !known.hasPending || this.#signal.aborted) return;
    this.#persisting = setTimeout(() => {
      this.#persisting = null;
      void known.persist();
    }, persistMs).unref();
  }

  /** The next question finds the drive anew: a site or a shared folder may lead elsewhere by now. */
  #forget(): void {
    this.#location = null;
  }

  #assertOpen(): void {
    if (this.#signal.aborted) throw closed();
  }
}

function closed(): SourceError {
  return new SourceError('stop', 'The source is closed.');
}
