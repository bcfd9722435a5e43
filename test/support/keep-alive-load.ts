import { Agent, request, type ClientRequest } from 'node:http';

/** How one request of the load ended. */
export interface LoadResult {
  /** `refused`: nobody took the connection; `failed`: somebody had, and gave no answer. */
  readonly end: 'answered' | 'refused' | 'failed';
  readonly words: string;
}

export interface Load {
  readonly results: readonly LoadResult[];
  /** How many requests were answered so far. */
  readonly answered: () => number;
  /** Resolves when every client has been refused once. */
  readonly over: Promise<void>;
}

/**
 * Clients that each ask again as soon as they are answered, on connections they keep, until nobody takes a connection.
 * A fresh connection that is reset before anything came back was in the system's queue: the server never had it.
 */
export function startLoad(base: string, { clients, query }: { clients: number; query: string }): Load {
  const results: LoadResult[] = [];
  const run = async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (let end = ''; end !== 'refused';) {
      const result = await askOnce(base, query, agent);
      results.push(result);
      end = result.end;
    }
    agent.destroy();
  };
  const over = Promise.all(Array.from({ length: clients }, run)).then(() => undefined);
  const answered = () => results.filter(({ end }) => end === 'answered').length;
  return { results, answered, over };
}

function askOnce(base: string, query: string, agent: Agent): Promise<LoadResult> {
  return new Promise((resolve) => {
    const asking: ClientRequest = request(`${base}/graphql`, {
      method: 'POST',
      agent,
      headers: { 'content-type': 'application/json' },
      timeout: 60_000,
    });
    asking.on('response', (response) => {
      let text = '';
      response.on('data', (chunk) => (text += chunk));
      response.on('end', () => resolve({ end: answers(text) ? 'answered' : 'failed', words: text }));
      response.on('error', (error) => resolve({ end: 'failed', words: error.message }));
    });
    asking.on('timeout', () => asking.destroy(new Error('no answer within 60 s')));
    asking.on('error', (error: NodeJS.ErrnoException) => {
      const refused = error.code === 'ECONNREFUSED' || (error.code === 'ECONNRESET' && !asking.reusedSocket);
      resolve({ end: refused ? 'refused' : 'failed', words: `${error.code}: ${error.message}` });
    });
    asking.end(JSON.stringify({ query }));
  });
}

function answers(text: string): boolean {
  return text.includes('"data"') && !text.includes('"errors"');
}
