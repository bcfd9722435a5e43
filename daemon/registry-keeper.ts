import { SourceError } from '../src/core/errors.ts';
import {
  acceptRegistry,
  auditDispute,
  offeredChecksum,
  readRegistryInForce,
  type RegistryInForce,
} from '../src/operations/accept-registry.ts';
import type { Context } from '../src/operations/context.ts';
import type { Looker } from '../src/operations/refresh-knowledge.ts';
import type { Clock } from './clock.ts';

/** Time between the two readings of a registry that must agree: it is written by the same tools as the knowledge. */
const settleMs = 100;

/** Readings until a registry that keeps changing is left for the next hint. */
const maxReadings = 20;

/** Time that another daemon has to read what this one has just read, before the two are taken to differ. */
const agreeWithinMs = 3000;
const agreePollMs = 250;

/** Keeps the registry in force in step with its file; the last good one stays whatever happens to the file (K-012). */
export class RegistryKeeper {
  readonly #context: Context;
  readonly #read: () => Promise<Uint8Array | null>;
  readonly #clock: Clock;
  readonly #looker: Looker;
  readonly #announce: () => Promise<unknown>;
  readonly #watchEnvironments: readonly string[];
  readonly #print: () => Promise<string>;
  #lastPrint = '';
  #last: Promise<void> = Promise.resolve();
  #next: Promise<RegistryInForce> | null = null;
  #inForce: RegistryInForce = { registry: null, faults: [], changed: false, disputedBy: [] };
  #offered: string | null = null;
  /** What was offered when a dispute was audited; null while there is none. */
  #disputed: string | null = null;

  constructor(options: {
    readonly context: Context;
    readonly read: () => Promise<Uint8Array | null>;
    readonly clock: Clock;
    readonly looker: Looker;
    readonly watchEnvironments: readonly string[];
    /** A text that changes when the file does, cheaply. */
    readonly print: () => Promise<string>;
    /** Tells the other daemons what the file holds now; `offered` says it. */
    readonly announce: () => Promise<unknown>;
  }) {
    this.#context = options.context;
    this.#read = options.read;
    this.#clock = options.clock;
    this.#looker = options.looker;
    this.#announce = options.announce;
    this.#watchEnvironments = options.watchEnvironments;
    this.#print = options.print;
  }

  get inForce(): RegistryInForce {
    return this.#inForce;
  }

  /** What the file held when it was last read: the SHA-256 of its bytes, or `missing`; null before. */
  get offered(): string | null {
    return this.#offered;
  }

  /** Looks only when the file is another than at the last look: for those who cannot wait for a hint. */
  async lookIfChanged(): Promise<void> {
    await this.#last;
    if ((await this.#print()) !== this.#lastPrint) await this.look();
  }

  /**
   * Reads the file and puts it in force, or keeps what is. One reading after the other, and one that has not begun yet
   * serves everybody who asks meanwhile: a file that is written all the time makes no queue.
   */
  look(): Promise<RegistryInForce> {
    this.#next ??= this.#last.then(() => {
      this.#next = null;
      const looking = this.#lookNow();
      this.#last = looking.then(
        () => undefined,
        () => undefined, // Whoever asked for this reading is told; the next one starts afresh.
      );
      return looking;
    });
    return this.#next;
  }

  async #lookNow(): Promise<RegistryInForce> {
    this.#lastPrint = await this.#print();
    const bytes = await this.#readSettled();
    this.#inForce =
      bytes === 'changing' ? { ...(await this.#current()), changed: false } : await this.#offer(bytes);
    return this.#inForce;
  }

  /** Puts what was read in force, once every other live daemon has read the same. */
  async #offer(bytes: Uint8Array | null): Promise<RegistryInForce> {
    const offered = offeredChecksum(bytes);
    const isNew = offered !== this.#offered;
    this.#offered = offered;
    if (isNew) await this.#announce();
    const watchEnvironments = this.#watchEnvironments;
    const deadline = this.#clock.now() + (this.#disputed === offered ? 0 : agreeWithinMs);
    for (;;) {
      const found = await acceptRegistry(this.#context, { bytes, looker: this.#looker, watchEnvironments });
      if (found.disputedBy.length === 0) this.#disputed = null;
      else if (this.#clock.now() < deadline) {
        await this.#clock.sleep(agreePollMs);
        continue;
      } else if (this.#disputed !== offered) {
        await auditDispute(this.#context, this.#looker, offered);
        this.#disputed = offered;
      }
      return found;
    }
  }

  async #current(): Promise<RegistryInForce> {
    return this.#inForce.registry === null ? readRegistryInForce(this.#context) : this.#inForce;
  }

  /** Two equal readings a moment apart. */
  async #readSettled(): Promise<Uint8Array | null | 'changing'> {
    let before = await this.#readPatiently();
    for (let reading = 1; reading < maxReadings; reading += 1) {
      await this.#clock.sleep(settleMs);
      const now = await this.#readPatiently();
      if (sameBytes(before, now)) return now;
      before = now;
    }
    return 'changing';
  }

  /** A registry that is there and cannot be read counts as absent: the last good one stays, and the refusal is told. */
  async #readPatiently(): Promise<Uint8Array | null> {
    try {
      return await this.#read();
    } catch (error) {
      if (error instanceof SourceError) return null;
      throw error;
    }
  }
}

function sameBytes(a: Uint8Array | null, b: Uint8Array | null): boolean {
  if (a === null || b === null) return a === b;
  return a.length === b.length && Buffer.compare(a, b) === 0;
}
