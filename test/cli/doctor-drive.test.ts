import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startFakeGraph } from '../support/fake-graph/fake-graph.ts';
import { makeCliPlace } from './cli-place.ts';

it('tries', async () => {
  await using place = await makeCliPlace(null, {SOURCE:'graph'});
  for (const args of [['doctor'],['plan',place.agentKey,'--no-db']]) console.log(JSON.stringify(await place.run(...args),null,1).replaceAll('\\n','\n'));
  await using fake = await startFakeGraph({ root: place.root });
  const env = Object.fromEntries(Object.entries(fake.environment()).map(([k,v])=>[k.replace('AGENT_KNOWLEDGE_',''),v]));
  await using p2 = await makeCliPlace(null, env);
  for (const args of [['doctor'],['plan',p2.agentKey,'--no-db']]) console.log(JSON.stringify(await p2.run(...args),null,1).replaceAll('\\n','\n'));
  const {GRAPH_TOKEN:_, ...rest}=env;
  await using p3 = await makeCliPlace(null, rest);
  const t=Date.now();
  for (const args of [['doctor'],['plan',p3.agentKey,'--no-db']]) console.log(Date.now()-t, JSON.stringify(await p3.run(...args),null,1).replaceAll('\\n','\n'));
}, 60000);
