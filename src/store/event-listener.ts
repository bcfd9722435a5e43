import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { startupOptions } from './pool.ts';
import { roles } from './roles.ts';
import { within } from './within.ts';

/** Milliseconds between two proofs that the connection still hears, and how long one may take. */
const defaultTimes = { heartbeatMs: 2000, answerMs: 1000, leastPauseMs: 100, mostPauseMs: 5000 };

/**
 * Hears that the audit log has grown, on a connection of its own. What it hears is a hint: it may be deaf for a while
 * (a half-open connection shows no error), so whoever listens looks by the clock as well, and is hinted after each new
 * connection, since nothing tells what was missed.
 */
export class EventListener implements AsyncDisposable {
  readonly #url: string;
  readonly #hint: () => void;
  readonly #times: typeof defaultTimes;
  readonly #closing = new AbortController();
  readonly #listening: Promise<void>;

  private constructor(url: string, hint: () => void, times: typeof defaultTimes) {
    this.#url = url;
    this.#hint = hint;
    this.#times = times;
    this.#listening = this.#listen();
  }

  /** Listens from now on; a server that is away is tried again until the listener is closed. */
  static open(url: string, hint: () => void, times: Partial<typeof defaultTimes> = {}): EventListener {
    return new EventListener(url, hint, { ...defaultTimes, ...times });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#listening;
  }

  async #listen(): Promise<void> {
    const { leastPauseMs, mostPauseMs } = this.#times;
    for (let failures = 0; !this.#closing.signal.aborted;) {
      const heard = await this.#listenOnce();
      failures = heard ? 0 : failures + 1;
      // With jitter, so that a server that comes back is not met by everybody at once.
      const most = Math.min(mostPauseMs, leastPauseMs * 2 ** Math.min(failures, 10));
      await this.#pause(leastPauseMs + Math.random() * (most - leastPauseMs));
    }
  }

  /** Listens until the connection ends, cannot prove that it lives or is closed; answers whether it ever heard. */
  async #listenOnce(): Promise<boolean> {
    const { answerMs, heartbeatMs } = this.#times;
    const client = new Client(connection(this.#url));
    const over = new AbortController();
    // Without a listener an error would end the process; what follows it is the same as after an end.
    client.on('error', () => over.abort()).on('end', () => over.abort());
    client.on('notification', this.#hint);
    const signal = AbortSignal.any([this.#closing.signal, over.signal]);
    let heard = false;
    try {
      await within(client.connect(), answerMs * 2, signal);
      await within(client.query('listen agent_knowledge_event'), answerMs, signal);
      heard = true;
      this.#hint();
      for (;;) {
        await sleep(heartbeatMs, undefined, { signal });
        await within(client.query('select 1'), answerMs, signal);
      }
    } catch {
      // Deaf, dead or closed: another connection takes its place, where one is still wanted.
      return heard;
    } finally {
      drop(client);
    }
  }

  async #pause(milliseconds: number): Promise<void> {
    await sleep(milliseconds, undefined, { signal: this.#closing.signal }).catch(() => undefined);
  }
}

/** A frozen process must not keep its connection: the server ends one that has not asked anything for ten seconds. */
function connection(url: string) {
  return {
    connectionString: url,
    application_name: 'agent-knowledge listener',
    connectionTimeoutMillis: 2000,
    keepAlive: true,
    options: startupOptions({
      role: roles.app,
      search_path: 'agent_knowledge',
      statement_timeout: '5s',
      idle_session_timeout: '10s',
      client_connection_check_interval: '2s',
    }),
  };
}

/** Whatever state it is in: a polite goodbye would wait for a server that does not answer. */
function drop(client: Client): void {
  client.removeAllListeners('notification');
  (
    client as Client & { readonly connection: { readonly stream: { destroy(): void } } }
  ).connection.stream.destroy();
}
