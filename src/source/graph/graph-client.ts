import { openTokens, readClaims, type TokenSource } from './access-token.ts';
import {
  describeTarget,
  parseBody,
  readRequestId,
  toNetworkTrouble,
  toTrouble,
  unreadable,
} from './answer.ts';
import { attempt, type AttemptsWanted } from './attempts.ts';
import { Renewal, sendAuthorized } from './authorized.ts';
import { runBatch } from './batch.ts';
import { resolveCloud } from './clouds.ts';
import { askOneByOne, whyNoBatch } from './one-by-one.ts';
import { downloadOnce } from './download.ts';
import type { Exchanged } from './exchange.ts';
import { GraphError } from './graph-error.ts';
import { usualHabits, type GraphHabits } from './graph-habits.ts';
import type { GraphPlace } from './graph-place.ts';
import type {
  BatchAnswer,
  BatchStep,
  Downloaded,
  Graph,
  GraphAnswer,
  GraphCall,
  GraphCloud,
} from './graph.ts';
import { wirePath } from './origins.ts';
import { ThrottleGate } from './throttle-gate.ts';
import { Transport } from './transport.ts';
import { openWire, type Request } from './wire.ts';

export interface GraphOptions {
  readonly habits?: Partial<GraphHabits>;
  /** Ends everything, as closing does. */
  readonly signal?: AbortSignal;
  /** Of the product, for the name it goes by (T5). */
  readonly version?: string;
}

/**
 * Microsoft Graph at one place, for one process: one token, one gate. Asks for nothing before it is called. Throws
 * `GraphError` `setup` where an address of the place cannot be trusted.
 */
export function openGraph(
  place: Pick<GraphPlace, 'cloud' | 'baseUrl' | 'authority' | 'downloadHosts' | 'credentials'>,
  options: GraphOptions = {},
): Graph {
  return new GraphClient(place, options);
}

/** How long a service that takes no batch is not asked for one. */
const noBatchMs = 10 * 60_000;

/** As much as an error ever holds. */
const refusalBytes = 65_536;

class GraphClient implements Graph {
  readonly cloud: GraphCloud;
  readonly #habits: GraphHabits;
  readonly #gate: ThrottleGate;
  readonly #closing = new AbortController();
  readonly #signal: AbortSignal;
  readonly #transport: Transport;
  readonly #tokens: TokenSource;
  readonly #wire: (request: Request) => Promise<Exchanged>;
  /** When a service that takes no batch is asked for one again. */
  #batchesAgainMs = 0;
  #used = { requests: 0, downloads: 0, units: 0 };

  constructor(place: Parameters<typeof openGraph>[0], { habits, signal, version = '0' }: GraphOptions) {
    const { signal: closing } = this.#closing;
    this.cloud = resolveCloud(place);
    this.#habits = { ...usualHabits, ...habits };
    this.#gate = new ThrottleGate(this.#habits);
    this.#signal = signal === undefined ? closing : AbortSignal.any([closing, signal]);
    const userAgent = `NONISV|AgentKnowledge|agent-knowledge/${version}`;
    this.#transport = new Transport(this.cloud, this.#habits, userAgent, this.#signal);
    this.#tokens = openTokens({
      cloud: this.cloud,
      credentials: place.credentials,
      isAuthorityOwn: place.authority !== null,
      habits: this.#habits,
      signal: this.#signal,
    });
    this.#wire = openWire(this.cloud.baseUrl, async (outgoing) => {
      this.#used.requests += 1;
      const answer = await this.#transport.ask(outgoing);
      this.#gate.heed(answer.headers);
      return answer;
    });
  }

  get usage() {
    return { ...this.#used };
  }

  get waitsUntil(): Date | null {
    return this.#gate.waitsUntil;
  }

  async call(call: GraphCall): Promise<GraphAnswer> {
    return this.#untilClosed(() => this.#call(call));
  }

  async batch(steps: readonly BatchStep[]): Promise<readonly BatchAnswer[]> {
    return this.#untilClosed(async () => {
      const post = (body: unknown, units: number) =>
        this.#call({ method: 'POST', target: '/$batch', body, units });
      const renew = async (headers: Readonly<Record<string, string>>): Promise<void> => {
        await this.#tokens.renew(await this.#tokens.read(), readClaims(headers['www-authenticate']));
      };
      if (this.#habits.now() >= this.#batchesAgainMs)
        try {
          return await runBatch({ ...this.#attempts, post, renew }, steps);
        } catch (error) {
          const why = whyNoBatch(error);
          if (why === null) throw error;
          if (why === 'never') this.#batchesAgainMs = this.#habits.now() + noBatchMs;
        }
      return askOneByOne((target) => this.#call({ target }), steps);
    });
  }

  async download(path: string, maxBytes: number): Promise<Downloaded> {
    return this.#untilClosed(() => {
      const [renewal, refusals] = [new Renewal(), { count: 0 }];
      // Room for what the service says of its refusal, however little may be downloaded.
      const roomBytes = Math.max(maxBytes, refusalBytes);
      const request: Request = { method: 'GET', path: wirePath(this.cloud, path), maxBytes: roomBytes };
      const ask = (): Promise<Exchanged> => this.#ask(request, renewal, 1);
      const fetch = async (url: URL, isOwn: boolean): Promise<Exchanged> => {
        // The door may have been shut since the address was given.
        await this.#gate.pass(this.#signal);
        const token = isOwn ? await this.#tokens.read() : null;
        this.#used.downloads += 1;
        return this.#transport.fetch(url, maxBytes, token);
      };
      const wanted = { cloud: this.cloud, path, maxBytes, now: this.#habits.now, ask, fetch };
      return attempt(this.#attempts, () => downloadOnce(wanted, refusals));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(
      new GraphError('closed', 'Microsoft Graph is no longer asked: this process is ending.'),
    );
    this.#transport[Symbol.dispose]();
  }

  get #attempts(): AttemptsWanted {
    return { habits: this.#habits, gate: this.#gate, signal: this.#signal };
  }

  async #call({ method = 'GET', target, body, units = 1 }: GraphCall): Promise<GraphAnswer> {
    const where = `${method} ${describeTarget(target)}`;
    const request: Request = { method, path: wirePath(this.cloud, target), body };
    const renewal = new Renewal();
    return attempt(this.#attempts, async () => this.#read(where, await this.#ask(request, renewal, units)));
  }

  async #ask(request: Request, renewal: Renewal, units: number): Promise<Exchanged> {
    this.#used.units += units;
    try {
      return await sendAuthorized({ tokens: this.#tokens, wire: this.#wire }, request, renewal);
    } catch (error) {
      if (this.#signal.aborted) throw error;
      throw toNetworkTrouble(`${request.method} ${describeTarget(request.path)}`, error);
    }
  }

  #read(where: string, answer: Exchanged): GraphAnswer {
    const { status, headers, bytes, whole } = answer;
    const parsed = parseBody(bytes);
    if (status < 200 || status > 299)
      throw toTrouble(where, { status, headers, body: parsed?.body ?? null }, this.#habits.now());
    if (!whole)
      throw new GraphError('protocol', `${where} was answered with more than can be taken.`, { status });
    // Without a body by its nature: nothing is to be said (202, 204).
    const isSilent = bytes.length === 0 && (status === 202 || status === 204);
    if (!isSilent && (parsed === null || typeof parsed.body !== 'object' || parsed.body === null))
      throw unreadable(where, answer);
    const serverTime = Date.parse(headers['date'] ?? '');
    return {
      status,
      body: parsed?.body ?? null,
      requestId: readRequestId(headers, parsed?.body),
      serverTime: Number.isNaN(serverTime) ? null : serverTime,
    };
  }

  async #untilClosed<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      this.#signal.throwIfAborted();
      return await work();
    } catch (error) {
      if (!this.#signal.aborted) throw error;
      throw new GraphError('closed', 'Microsoft Graph is no longer asked: this process is ending.');
    }
  }
}
