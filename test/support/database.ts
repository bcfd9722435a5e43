import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { inject } from 'vitest';
import type { CallContext, Policy } from '../../src/operations/context.ts';
import { KnowledgeFeed } from '../../src/operations/knowledge-feed.ts';
import { addActor } from '../../src/store/actors.ts';
import { Database } from '../../src/store/database.ts';
import { EventListener } from '../../src/store/event-listener.ts';
import { JobQueue } from '../../src/store/job-queue.ts';
import type { Scope } from '../../src/core/permissions.ts';
import { databaseUrl, templateDatabase } from './test-server.ts';

/** A fresh clone of the migrated database, with everything an operation needs; dropped at the end. */
export interface TestDatabase extends AsyncDisposable {
  readonly name: string;
  readonly applicationUrl: string;
  readonly superuserUrl: string;
  readonly database: Database;
  readonly queue: JobQueue;
  /** A context that acts as an admin; `change` overrides what a test needs otherwise. */
  context(change?: Partial<Omit<CallContext, 'policy'>> & { policy?: Partial<Policy> }): CallContext;
  /** Runs statements as the superuser, for what the application may not do. */
  asSuperuser<T>(work: (client: Client) => Promise<T>): Promise<T>;
}

export const testPolicy: Policy = {
  environments: ['dev', 'staging', 'production'],
  defaultEnvironment: 'production',
  maxFileBytes: 1_048_576,
  shrinkHold: true,
  holdOnRollback: false,
  maxVersionsPerHour: 0,
  resyncSeconds: 30,
  activate: () => 'auto',
  secondPersonEnvironments: [],
};

export async function createTestDatabase(): Promise<TestDatabase> {
  const server = inject('testServer');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await cloneTemplate(server.superuserUrl, name);
  const superuserUrl = databaseUrl(server.superuserUrl, name);
  const application = new URL(superuserUrl);
  application.username = server.loginUser;
  application.password = server.loginPassword;
  const applicationUrl = application.href;
  const database = await Database.open({ url: applicationUrl });
  const queue = await JobQueue.open(applicationUrl);
  const clock = () => new Date();
  const feed = new KnowledgeFeed({ database, clock }, (hint) => EventListener.open(applicationUrl, hint));
  const actorId = await database.read((queries) => addActor(queries, 'local', 'test'));
  return {
    name,
    applicationUrl,
    superuserUrl,
    database,
    queue,
    context: (change = {}) => ({
      database,
      queue,
      feed,
      clock,
      room: async () => null,
      caller: caller(actorId, ['admin']),
      ...change,
      policy: { ...testPolicy, ...change.policy },
    }),
    asSuperuser: (work) => withClient(superuserUrl, work),
    async [Symbol.asyncDispose]() {
      await feed[Symbol.asyncDispose]();
      await queue[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
      await withClient(databaseUrl(server.superuserUrl, 'postgres'), (client) =>
        client.query(`drop database ${name} with (force)`),
      );
    },
  };
}

/** A caller with these scopes, bound to nothing unless a test says so. */
export function caller(
  actorId: number,
  scopes: readonly Scope[],
  bounds: { agents?: readonly string[]; environments?: readonly string[] } = {},
): CallContext['caller'] {
  return {
    actorId,
    kind: 'key',
    credential: null,
    scopes: new Set(scopes),
    agents: bounds.agents ? new Set(bounds.agents) : null,
    environments: bounds.environments ? new Set(bounds.environments) : null,
  };
}

export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function cloneTemplate(superuserUrl: string, name: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await withClient(databaseUrl(superuserUrl, 'postgres'), (client) =>
        client.query(`create database ${name} template ${templateDatabase}`),
      );
      return;
    } catch (error) {
      // 55006: another file is cloning at this moment.
      if ((error as { code?: string }).code !== '55006' || attempt === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50 * attempt));
    }
  }
}
