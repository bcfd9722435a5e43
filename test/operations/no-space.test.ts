import { afterAll, beforeAll, expect, test } from 'vitest';
import { activateVersion } from '../../src/operations/activate-version.ts';
import { readPackage } from '../../src/operations/read-knowledge.ts';
import { abandonLook, openLook } from '../../src/operations/refresh-knowledge.ts';
import { awaitRefresh, requestRefresh } from '../../src/operations/request-refresh.ts';
import { beatDaemon } from '../../src/operations/looker.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { heartbeatOf } from '../support/fake-daemon.ts';
import { loadVersion, lookAt } from '../support/knowledge.ts';

/* F29, F30: what is refused and what goes on while the disk of the database has no room. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const lack = 'There is no space for new versions.';
const full = () => database.context({ room: async () => lack });
const noSpace = { code: 'UNAVAILABLE', details: { reason: 'no_space' } };

test('without room a refresh is refused and stores nothing; reads and activations go on', async () => {
  await loadVersion(database, { agentKey: 'reader', files: { 'a.md': '# One' } });
  await expect(requestRefresh(full(), { agentKey: 'reader' })).rejects.toMatchObject({
    ...noSpace,
    message: lack,
  });
  const { rows } = await database.asSuperuser((client) =>
    client.query(
      `select count(*)::int as open from agent_knowledge.refresh_attempt where agent_key = 'reader'`,
    ),
  );
  expect(rows[0].open).toBe(0);
  expect((await readPackage(full(), 'reader')).activeNumber).toBe(1);
  await activateVersion(full(), { agentKey: 'reader', knowledgeVersion: 'v1' });
});

test('a refresh that was answered before is answered again under its key, room or not', async () => {
  await loadVersion(database, { agentKey: 'again', files: { 'a.md': '# One' } });
  const input = { agentKey: 'again', waitSeconds: 0, idempotencyKey: 'key-1' };
  const first = await requestRefresh(database.context(), input);
  await lookAt(database, { agentKey: 'again', files: { 'a.md': '# One' } });
  expect(await requestRefresh(full(), input)).toMatchObject({ id: first.id, outcome: 'UNCHANGED' });
});

test('who waits for a look that finds no room is told so at once, and the request is carried out when there is', async () => {
  const agent = { agentKey: 'waiter', files: { 'a.md': '# One' } };
  await loadVersion(database, agent);
  const context = database.context();
  const looker = { id: 'daemon-waiter', actorId: context.caller.actorId };
  await beatDaemon(context, heartbeatOf(looker));
  const waits = expect(
    requestRefresh(context, { agentKey: 'waiter', waitSeconds: 60 }),
  ).rejects.toMatchObject({
    ...noSpace,
    message: `${lack} The request is kept and carried out then.`,
  });
  const name = { agentKey: 'waiter', environment: 'production' };
  const taken = await takeRequest(name, looker);
  await abandonLook(context, taken, lack);
  await waits;
  const id = taken[0]?.id ?? '';
  await expect(awaitRefresh(context, id, 0)).rejects.toMatchObject(noSpace);
  await lookAt(database, { ...agent, files: { 'a.md': '# Two' } });
  expect(await awaitRefresh(context, id, 0)).toMatchObject({
    state: 'DONE',
    outcome: 'LOADED',
    reason: null,
  });
}, 60_000);

test('who waits in vain leaves the open requests of the package as they were', async () => {
  await loadVersion(database, { agentKey: 'vain', files: { 'a.md': '# One' } });
  const context = database.context();
  await beatDaemon(context, heartbeatOf({ id: 'daemon-vain', actorId: context.caller.actorId }));
  const rows = async () =>
    (
      await database.asSuperuser((client) =>
        client.query(
          `select *, xmin::text as written from agent_knowledge.refresh_attempt where agent_key = 'vain'`,
        ),
      )
    ).rows as { written: string }[];
  await requestRefresh(context, { agentKey: 'vain', waitSeconds: 0 });
  const [before] = await rows();
  expect(await requestRefresh(context, { agentKey: 'vain', waitSeconds: 0.2 })).toMatchObject({
    state: 'QUEUED',
  });
  const after = (await rows()).find(
    (row) => 'id' in row && row.id === (before as { id?: string } | undefined)?.id,
  );
  // It was written again, which a full disk would have refused, and says what it said.
  expect(after?.written).not.toBe(before?.written);
  expect({ ...after, written: '' }).toEqual({ ...before, written: '' });
});

async function takeRequest(
  name: { agentKey: string; environment: string },
  looker: { id: string; actorId: number },
): Promise<Awaited<ReturnType<typeof openLook>>['attempts']> {
  for (;;) {
    const { attempts } = await openLook(database.context(), looker, name);
    if (attempts.length > 0) return attempts;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('without room new content is not captured, and content that is known concludes as ever', async () => {
  const agent = { agentKey: 'looker', files: { 'a.md': '# One' } };
  await loadVersion(database, agent);
  const withoutRoom = { ...database, context: full };
  expect(await lookAt(withoutRoom, agent)).toMatchObject({ outcome: 'UNCHANGED' });
  await expect(lookAt(withoutRoom, { ...agent, files: { 'a.md': '# Two' } })).rejects.toMatchObject(noSpace);
  expect((await readPackage(database.context(), 'looker')).nextNumber).toBe(2);
});
