import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { KnowledgeError } from '../core/errors.ts';

/** Any number that no other program is likely to have chosen. */
const startLock = 4_104_118_202;

/** How often the lock may be another's in a row, 250 ms apart: an ended session of ours leaves it within that time. */
const foreignLimit = 12;

/** The lock of a running `start`. */
export interface StartLock extends AsyncDisposable {
  /** Resolves, with a sentence, when another `start` has taken it while the database was away; never otherwise. */
  readonly lost: Promise<string>;
}

/**
 * One `start` per data folder: the lock is a session of the database, so it ends with the process that holds it. A server
 * that restarts its sessions or itself, as after a crash, ends this one too: it is taken again at once.
 */
export async function takeStartLock(adminUrl: string, dataDir: string): Promise<StartLock> {
  let client = await lockSession(adminUrl);
  if (client === null) {
    throw new KnowledgeError(
      'CONFLICT',
      `Another "npm start" is running on ${dataDir}. Stop it first, or set AGENT_KNOWLEDGE_DATA_DIR.`,
    );
  }
  const released = new AbortController();
  const { promise: lost, resolve: lose } = Promise.withResolvers<string>();
  const keep = async () => {
    while (!released.signal.aborted) {
      await new Promise((resolve) => client?.once('end', resolve));
      for (let foreign = 0; ;) {
        await sleep(250, undefined, { signal: released.signal }).catch(() => undefined);
        if (released.signal.aborted) return;
        // Undefined: the database is still away.
        const taken = await lockSession(adminUrl).catch(() => undefined);
        client = taken ?? null;
        if (client !== null) break;
        foreign = taken === null ? foreign + 1 : 0;
        if (foreign === foreignLimit) {
          lose(`Another "npm start" has taken over ${dataDir} while its PostgreSQL was away.`);
          return;
        }
      }
    }
  };
  void keep();
  return {
    lost,
    async [Symbol.asyncDispose]() {
      released.abort();
      await client?.end().catch(() => undefined);
    },
  };
}

/** A session that holds the lock; null where another one does. */
async function lockSession(adminUrl: string): Promise<Client | null> {
  // Bounded: whoever has the port while PostgreSQL is away may say nothing at all.
  const client = new Client({ connectionString: adminUrl, connectionTimeoutMillis: 5000 });
  client.on('error', () => undefined); // Its end is what its holder listens to.
  await client.connect();
  const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [startLock]);
  if (rows[0].taken === true) return client;
  await client.end();
  return null;
}
