import { join } from 'node:path';
import { KnowledgeError, messageOf } from '../core/errors.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../store/embedded-postgres.ts';
import { Supervisor, type Part } from './supervisor.ts';

/** The embedded PostgreSQL as something that runs and may end. */
export interface PostgresPart extends Part {
  readonly server: EmbeddedPostgres;
}

/** Starts or adopts the embedded PostgreSQL of a data folder, in a person's words where that fails. */
export async function startPostgresPart(dataDir: string, port?: number): Promise<PostgresPart> {
  try {
    const server = await startEmbeddedPostgres({ dataDir, ...(port === undefined ? {} : { port }) });
    const log = join(dataDir, 'postgres.log');
    return {
      server,
      ended: server.exited.then(() => `PostgreSQL ended; ${log} may say why.`),
      [Symbol.asyncDispose]: () => server.stop(),
    };
  } catch (error) {
    // Its words are for a person already; a stack trace would bury them.
    throw new KnowledgeError('UNAVAILABLE', messageOf(error), {
      cause: error,
    });
  }
}

/**
 * Brings PostgreSQL back whenever it ends, on the same port since API and daemon hold its address, for as long as it
 * takes: until there is room on a full disk, or another program has left the port (F16, F30).
 */
export function supervisePostgres(
  first: PostgresPart,
  dataDir: string,
  tell: (line: string) => void,
): Supervisor<PostgresPart> {
  const port = Number(new URL(first.server.applicationUrl).port);
  return new Supervisor(first, {
    name: 'PostgreSQL',
    again: () => startPostgresPart(dataDir, port),
    tell,
    maxFailures: null,
  });
}
