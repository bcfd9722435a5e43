import { openGraph } from '../../src/source/graph/graph-client.ts';
import { GraphError } from '../../src/source/graph/graph-error.ts';

/** Runs in a process of its own, which trusts a certificate from its start: calls at once as often as asked, and prints what came. */
const [baseUrl = '', calls = '1'] = process.argv.slice(2);
await using graph = openGraph(
  {
    cloud: 'global',
    baseUrl,
    authority: baseUrl,
    downloadHosts: [],
    credentials: { kind: 'environment' },
  },
  { habits: { tokenMs: 1500 } },
);
const steps = ['/a', '/b', '/c'].map((path) => ({ path }));
const answers = await (calls === 'batch'
  ? graph.batch(steps)
  : Promise.all(
      Array.from({ length: Number(calls) }, () =>
        graph.call({ target: '/me' }).then(
          ({ body }) => body,
          (error: unknown) => {
            if (!(error instanceof GraphError)) throw error;
            const { trouble, message, status, codes } = error;
            return { trouble, message, status, codes };
          },
        ),
      ),
    ));
process.stdout.write(JSON.stringify(answers));
