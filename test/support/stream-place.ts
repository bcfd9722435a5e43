import { createTestDatabase, type TestDatabase } from './database.ts';
import { openStream, type OpenStream, type StreamRequest } from './event-stream.ts';
import { startTestServer, type TestServer } from './http.ts';
import { loadVersion } from './knowledge.ts';

/** Two servers on one database, and streams of them. */
export interface StreamPlace extends AsyncDisposable {
  readonly database: TestDatabase;
  readonly server: TestServer;
  readonly other: TestServer;
  /** Makes a version of a package of one file. */
  load(agentKey: string, text: string, environment?: string): Promise<string>;
  /** Opens a stream of the first server with the admin key, unless the request says otherwise. */
  stream(variables: Record<string, unknown>, request?: Partial<StreamRequest>): Promise<OpenStream>;
}

export async function openStreamPlace(): Promise<StreamPlace> {
  const database = await createTestDatabase();
  const server = await startTestServer(database);
  const other = await startTestServer(database);
  return {
    database,
    server,
    other,
    load: (agentKey, text, environment = 'production') =>
      loadVersion(database, { agentKey, environment, files: { 'a.md': text } }),
    stream: (variables, request = {}) =>
      openStream({ url: server.url, key: server.key, variables, ...request }),
    async [Symbol.asyncDispose]() {
      await other[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await database[Symbol.asyncDispose]();
    },
  };
}
