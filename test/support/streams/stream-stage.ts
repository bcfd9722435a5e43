import { join } from 'node:path';
import { CrashStage } from '../crash/crash-stage.ts';
import { checkHistory } from '../history/checker.ts';
import type { Fault } from '../history/fault.ts';
import { readFinalState, type FinalState } from '../history/final-state.ts';
import { LineFile } from '../history/line-file.ts';
import type { Call } from '../history/record.ts';
import { Recorder } from '../history/recorder.ts';
import { toSubscribers, type StreamLine, type Subscriber } from '../history/stream-record.ts';
import { hasEnded, untilSaid, type RunningCommand } from '../processes.ts';
import { startScript } from '../watched-processes.ts';
import { loadClientsOf, startStreamLoad } from './stream-load.ts';
import { subscribe, type SubscriberOptions } from './subscriber.ts';

/** What a run came to, and what the checker says of it. */
export interface StreamHistory {
  readonly calls: readonly Call[];
  readonly state: FinalState;
  readonly streams: readonly Subscriber[];
  readonly lines: readonly StreamLine[];
  readonly faults: readonly Fault[];
}

/** Two APIs and two daemons on one PostgreSQL of their own, and subscribers who write down what they are told. */
export class StreamStage implements AsyncDisposable {
  /** The first API and the first daemon, which can be killed and started again, and the database. */
  readonly first: CrashStage;
  /** The second API, which can be frozen, and its address. */
  readonly api: RunningCommand;
  readonly url: string;
  readonly book: LineFile<StreamLine>;
  readonly recorder: Recorder;
  readonly #agents: readonly string[];
  readonly #daemon: RunningCommand;
  readonly #stack: AsyncDisposableStack;
  readonly #ending = new AbortController();
  readonly #following: Promise<void>[] = [];

  private constructor(
    parts: Pick<StreamStage, 'first' | 'api' | 'url' | 'book' | 'recorder'> & { daemon: RunningCommand },
    agents: readonly string[],
    stack: AsyncDisposableStack,
  ) {
    ({ first: this.first, api: this.api, url: this.url, book: this.book, recorder: this.recorder } = parts);
    this.#daemon = parts.daemon;
    this.#agents = agents;
    this.#stack = stack;
  }

  static async open(agents: readonly string[]): Promise<StreamStage> {
    await using stack = new AsyncDisposableStack();
    const clients = [...loadClientsOf(agents), 'subscriber'];
    const first = stack.use(await CrashStage.open({ agents, files: ['a.md'], clients }));
    const book = stack.use(new LineFile<StreamLine>(join(first.folder, 'streams.jsonl')));
    const recorder = stack.use(new Recorder(join(first.folder, 'history.jsonl')));
    const api = stack.use(first.run('serve', { AGENT_KNOWLEDGE_PORT: '0' }));
    const daemon = stack.use(first.run('daemon'));
    const [[, url = '']] = await Promise.all([
      untilSaid(api, /"url":"(http[^"]+)"/),
      untilSaid(daemon, /the daemon watches/),
    ]);
    return new StreamStage({ first, api, url, book, recorder, daemon }, agents, stack.move());
  }

  /** Begins to follow; by default everything from the beginning of the log. */
  follow(name: string, at: 'first' | 'second', change: Partial<SubscriberOptions> = {}): void {
    this.#following.push(subscribe(this.#options(name, at, change), this.book, this.#ending.signal));
  }

  /** The same in a process of its own, which writes into the same book. */
  async followApart(
    name: string,
    at: 'first' | 'second',
    change: Partial<SubscriberOptions> = {},
  ): Promise<AsyncDisposable> {
    const options = JSON.stringify(this.#options(name, at, change));
    return startScript('streams/subscriber-process.ts', [options, this.book.path]);
  }

  startLoad(): { stop(): Promise<void> } {
    const { first, recorder } = this;
    return startStreamLoad({ stage: first, recorder, agents: this.#agents, urls: [first.url, this.url] });
  }

  /** Everything that was recorded so far against the database as it is now. */
  async judge(): Promise<StreamHistory> {
    const { calls, state } = await this.recorder.around(() => this.first.asSuperuser(readFinalState));
    const lines = this.book.read();
    const streams = toSubscribers(lines);
    return { calls, state, streams, lines, faults: checkHistory(calls, state, { streams }) };
  }

  /** What the processes have written, where one of them has ended that nobody killed; else nothing. */
  unexpectedEnds(): string[] {
    const own = [this.api, this.#daemon].filter(hasEnded).map((command) => command.stderr());
    return [...this.first.unexpectedEnds(), ...own];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await Promise.all(this.#following);
    await this.#stack.disposeAsync();
  }

  #options(name: string, at: 'first' | 'second', change: Partial<SubscriberOptions>): SubscriberOptions {
    return {
      name,
      transport: 'raw',
      process: at,
      url: at === 'first' ? this.first.url : this.url,
      key: this.first.keys.get('subscriber') ?? '',
      filter: { agentKey: null, environment: 'production' },
      begin: 0,
      ...change,
    };
  }
}
