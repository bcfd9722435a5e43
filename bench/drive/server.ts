import { startFakeGraph } from '../../test/support/fake-graph/fake-graph.ts';

/** The stand-in for Microsoft Graph as a process of its own, over the folder of the first argument; tells its parent its settings. */
const fake = await startFakeGraph({ root: process.argv[2] ?? '', scanEveryMs: Number(process.argv[3] ?? 0) });
process.send?.(fake.environment());
