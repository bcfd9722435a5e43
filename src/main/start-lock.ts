import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { KnowledgeError } from '../core/errors.ts';

/** Any number that no other program is likely to have chosen. */
const startLock = 4_104_118_202;

/**
 * One `start` per data folder: the lock is a session of the database, so it ends with the process that holds it. A server
 * that restarts its sessions, as after a crash of one, ends this one too: it is taken again at once.
 */
export async function takeStartLock(adminUrl: string, dataDir: string): Promise<AsyncDisposable> {
  let client = await lockSession(adminUrl);
  if (client === null) {
    throw new KnowledgeError(
      'CONFLICT',
      `Another "npm start" is running on ${dataDir}. Stop it first, or set AGENT_KNOWLEDGE_DATA_DIR.`,
    );
  }
  const released = new AbortController();
  const keep = async () => {
    while (!released.signal.aborted) {
      await new Promise((resolve) => client?.once('end', resolve));
      do {
        await sleep(250, undefined, { signal: released.signal }).catch(() => undefined);
        if (released.signal.aborted) return;
        client = await lockSession(adminUrl).catch(() => null);
      } while (client === null);
    }
  };
  void keep();
  return {
    async [Symbol.asyncDispose]() {
      released.abort();
      await client?.end().catch(() => undefined);
    },
  };
}

/** A session that holds the lock; null where another one does. */
async function lockSession(adminUrl: string): Promise<Client | null> {
  const client = new Client({ connectionString: adminUrl });
  client.on('error', () => undefined); // Its end is what its holder listens to.
  await client.connect();
  const { rows } = await client.query('select pg_try_advisory_lock($1) as taken', [startLock]);
  if (rows[0].taken === true) return client;
  await client.end();
  return null;
}
