import { Client } from 'pg';
import { startupOptions } from '../../src/store/pool.ts';

/** What the server made of some statements in one transaction: its refusal, or `accepted` once it has committed. */
export type Verdict = 'accepted' | { readonly state: string; readonly message: string };

/** A session with the server, switched to a role as the product's pools switch theirs. */
export async function openSession(url: string, settings: Record<string, string> = {}): Promise<Client> {
  const options = startupOptions({ search_path: 'agent_knowledge', ...settings });
  const client = new Client({ connectionString: url, options });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/** Tries statements, separated by semicolons, in one transaction. */
export async function attempt(client: Client, statements: string): Promise<Verdict> {
  try {
    await client.query('begin');
    await client.query(statements);
    await client.query('commit');
    return 'accepted';
  } catch (error) {
    await client.query('rollback');
    const { code, message } = error as { code: string; message: string };
    return { state: code, message };
  }
}
