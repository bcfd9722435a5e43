import { openGraph } from '../../src/source/graph/graph-client.ts';
import type { Graph } from '../../src/source/graph/graph.ts';

/** Microsoft Graph at a server of the test's own, which takes any token; it retries as ever, but without waiting. */
export function openTestGraph(baseUrl: string): Graph {
  return openGraph(
    {
      cloud: 'global',
      baseUrl,
      authority: null,
      downloadHosts: [],
      credentials: { kind: 'token', token: 'a-token-for-trying' },
    },
    { habits: { sleep: () => Promise.resolve() } },
  );
}
