import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PackageLook } from '../../src/core/look.ts';
import { findHalfWritten } from '../../src/operations/find-half-written.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { lookOf, openLooks, type TestAgent, type TestLooks } from '../support/looks.ts';

let database: TestDatabase;
let looks: TestLooks;

beforeAll(async () => {
  database = await createTestDatabase();
  looks = await openLooks(database);
});
afterAll(() => database[Symbol.asyncDispose]());

const active = '# Core\n\nSome rules that take a line.\n';

async function withActive(): Promise<TestAgent> {
  const agent = looks.agent();
  await agent.refresh({ 'core.md': active, 'extra-1.md': 'extra\n' });
  return agent;
}

const findIn = (agent: TestAgent, look: PackageLook) => findHalfWritten(database.context(), agent.name, look);
const lookAt = (agent: TestAgent, text: string) =>
  lookOf(agent.definition.files, { 'core.md': text, 'extra-1.md': 'extra\n' });

test.each<[string, string, string | null]>([
  ['the active bytes themselves', active, null],
  ['a longer text', `${active}more\n`, null],
  ['a shorter text of other words', active.replace('rules', 'ways'), null],
  ['the beginning of the active bytes', active.slice(0, -3), 'cut_off'],
  ['less than half of them', active.slice(0, 10), 'much_shorter'],
  ['nothing', '', 'empty'],
  ['zeros at the end', `${active}\0`, 'zeros_at_end'],
])('looks half written beside the active version or not: %s', async (_, text, suspicion) => {
  const agent = await withActive();
  const found = await findIn(agent, lookAt(agent, text));
  expect(found).toEqual(suspicion === null ? null : { relativePath: 'core.md', suspicion });
});

test('a first version has nothing to be shorter than, and a lost root nothing that is half', async () => {
  const agent = looks.agent();
  expect(await findIn(agent, lookAt(agent, 'x'))).toBeNull();
  expect(await findIn(agent, { root: 'trouble', code: 'root_missing', message: 'Gone.' })).toBeNull();
});

test('the version before is marked in the event of the one that shows it to be torn, and only there', async () => {
  const agent = await withActive();
  await agent.refresh(`${active}one\n`, { possiblyTorn: 1 });
  const loaded = (await agent.events()).filter((event) => event.action === 'agent.knowledge_loaded');
  expect(loaded.map((event) => event.details['possiblyTorn'])).toEqual([undefined, 'v1']);
});
