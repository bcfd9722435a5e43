import { sha256 } from '../../../src/core/checksum.ts';
import { detailsText, eventHash, type EventAction } from '../../../src/core/events.ts';
import { versionName } from '../../../src/core/package.ts';
import type { FinalEvent, FinalPackage, FinalState, FinalVersion } from './final-state.ts';
import type { Call, CallResult, SeenPointer } from './record.ts';

/** What a made call is, where it is not an ordinary one of `writer` that ended well. */
export type CallChange = Partial<Omit<Call, 'result'>> & { readonly result?: CallResult };

/**
 * A history of one package, `alpha/production`, made by hand: every step is right in itself, and a test then changes
 * what it is about. Time is counted in milliseconds from 0; a call begins 10 before its effect and ends 10 after it.
 */
export class MadeHistory {
  readonly name = 'alpha/production';
  readonly calls: Call[] = [];
  readonly events: FinalEvent[] = [];
  readonly versions: FinalVersion[] = [];
  #now = 0;
  #active: number | null = null;
  #generation = 0;
  #held = false;

  /** Where the pointer stands after the last step. */
  get seen(): SeenPointer {
    const active = this.versions.find(({ number }) => number === this.#active);
    return { generation: this.#generation, active: this.#active, checksum: active?.checksum ?? null };
  }

  get now(): number {
    return this.#now;
  }

  /** Somebody saves a content nobody had, and asks for a refresh: a new version, active unless held. */
  refresh(text: string, change: CallChange = {}): this {
    this.#now += 100;
    const number = this.versions.length + 1;
    const file = { relativePath: 'a.md', checksum: sha256(text), contentChecksum: sha256(text) };
    const checksum = sha256(`${file.checksum}  a.md\n`);
    const [previousActive, activated] = [this.#active, !this.#held];
    this.versions.push({ number, checksum, files: [file] });
    if (activated) this.#moveTo(number);
    this.event('agent.knowledge_loaded', versionName(number), {
      number,
      checksum,
      previousActive: previousActive === null ? null : versionName(previousActive),
      activated,
      generation: this.#generation,
    });
    return this.call({
      operation: 'refresh',
      arguments: { brings: { relativePath: 'a.md', checksum: file.checksum } },
      result: { version: { number, checksum } },
      ...change,
    });
  }

  activate(target: number, change: CallChange = {}): this {
    this.#now += 100;
    const from = this.#active === null ? null : versionName(this.#active);
    this.#moveTo(target);
    const details = { from, to: versionName(target), generation: this.#generation };
    this.event('agent.knowledge_rollback', versionName(target), details);
    return this.call({
      operation: 'activate',
      arguments: { target },
      result: { seen: this.seen },
      ...change,
    });
  }

  hold(change: CallChange = {}): this {
    this.#now += 100;
    this.#held = true;
    this.event('agent.knowledge_held', null, { by: 'OPERATOR', reasonHash: sha256('Because.') });
    return this.call({ operation: 'hold', ...change });
  }

  release(change: CallChange = {}): this {
    this.#now += 100;
    this.#held = false;
    this.event('agent.knowledge_released', null, { by: 'OPERATOR', reasonHash: null });
    return this.call({ operation: 'release', ...change });
  }

  /** A reader sees where the pointer stands, and the bytes. */
  read(change: CallChange = {}): this {
    this.#now += 100;
    const files = this.versions.find(({ number }) => number === this.#active)?.files ?? [];
    return this.call({ client: 'reader', operation: 'read', result: { seen: this.seen, files }, ...change });
  }

  /** A call as told, around this moment. */
  call(change: CallChange): this {
    this.calls.push({
      id: `call-${this.calls.length + 1}`,
      process: 'api',
      client: 'writer',
      operation: 'activate',
      package: this.name,
      arguments: {},
      startedAt: this.#now - 10,
      endedAt: this.#now + 10,
      end: 'ok',
      result: {},
      ...change,
    });
    return this;
  }

  /** An event of this package, chained to the last one. */
  event(action: EventAction, subject: string | null, details: object, actorName = 'writer'): this {
    const event = {
      epoch: 1,
      sequence: this.events.length + 1,
      previousHash: this.events.at(-1)?.hash ?? '0'.repeat(64),
      timeMicros: String(this.#now * 1000),
      actorId: 'key:1',
      action,
      agentKey: 'alpha',
      environment: 'production',
      subject,
      details: detailsText({ ...details }),
    };
    this.events.push({ ...event, hash: eventHash(event), actorName });
    return this;
  }

  /** What the database holds after the last step; `change` is laid over the package's row. */
  state(change: Partial<FinalPackage> = {}): FinalState {
    const row = {
      name: this.name,
      nextNumber: this.versions.length + 1,
      active: this.#active,
      generation: this.#generation,
      held: this.#held,
      versions: [...this.versions],
    };
    return { packages: [{ ...row, ...change }], events: [...this.events] };
  }

  #moveTo(number: number): void {
    this.#active = number;
    this.#generation += 1;
  }
}

/** The same events, chained anew after they were changed: what a forger would do who knows the rule. */
export function chainAnew(events: readonly FinalEvent[]): FinalEvent[] {
  const chained: FinalEvent[] = [];
  for (const event of events) {
    const previous = chained.at(-1);
    const place = { sequence: chained.length + 1, previousHash: previous?.hash ?? '0'.repeat(64) };
    const moved = { ...event, ...place };
    chained.push({ ...moved, hash: eventHash(moved) });
  }
  return chained;
}
