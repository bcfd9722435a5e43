/** Recipe R9 step 5: what a drive gives, changed between metadata and content, is captured whole or not at all. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { PackageLook } from '../../src/core/look.ts';
import type { SettleTimes } from '../../src/core/settle-window.ts';
import { startFakeGraph, type FakeGraph } from '../support/fake-graph/fake-graph.ts';
import { openRoundScene, type RoundScene } from '../support/round-scene.ts';
import { listed, makeFolder } from '../support/source-folder.ts';
import { openTinySource } from '../support/tiny-source.ts';

const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const wholeMs = isLong ? 60_000 : 5000;
const quietMs = 40;

let stack: AsyncDisposableStack;
let fake: FakeGraph;
beforeEach(() => {
  stack = new AsyncDisposableStack();
});
afterEach(() => stack.disposeAsync());

async function open(times: SettleTimes): Promise<RoundScene> {
  const { root } = stack.use(await makeFolder({ 'root/other.md': 'other' }));
  fake = stack.use(await startFakeGraph({ root }));
  const { url, token, driveId } = fake;
  const { source } = stack.use(openTinySource({ url, token, drive: { kind: 'id', driveId }, rootPath: '' }));
  const look = () => source.look(listed('x.md', 'y.md'), { withContent: true, maxFileBytes: 65_536 });
  const [longMs, restMs] = [3 * quietMs, 8 * quietMs];
  return stack.use(await openRoundScene({ root, longMs, restMs, look, times, counts: isWhole }));
}

/** Only this becomes a version. */
function isWhole(look: PackageLook): boolean {
  return look.root === 'present' && look.files.every(({ state }) => state === 'present');
}

test(
  `a package that is saved all the time in a drive is captured whole, unless it stood still (R9, ${wholeMs / 1000} s)`,
  async () => {
    const scene = await open({ quietMs, burstMs: quietMs, capMs: 5000 });
    for (const end = performance.now() + wholeMs; performance.now() < end;) await scene.lookOnce();
    expect(scene.captured.length).toBeGreaterThan(wholeMs / 1000);
    expect(await scene.tornInMotion(quietMs)).toEqual([]);
    expect(fake.writes).toEqual([]);
  },
  wholeMs + 60_000,
);

test('CONTROL: without a quiet time torn packages are captured from a drive', async () => {
  const scene = await open({ quietMs: 0, burstMs: 0, capMs: 5000 });
  for (const end = performance.now() + 60_000; performance.now() < end && !scene.hasTorn();)
    await scene.lookOnce();
  expect(scene.hasTorn()).toBe(true);
}, 120_000);
