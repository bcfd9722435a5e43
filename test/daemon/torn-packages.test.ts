/** Recipe R9: no version is a mixture of two states of the folder, unless the folder stood still in between. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SettleTimes } from '../../src/core/settle-window.ts';
import { openLocalSource } from '../../src/source/local-source.ts';
import { openRoundScene, type RoundScene } from '../support/round-scene.ts';
import { listed, makeFolder } from '../support/source-folder.ts';

const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const looks = isLong ? 500 : 40;
const quietMs = 40;
const settling: SettleTimes = { quietMs, burstMs: quietMs, capMs: 5000 };

let stack: AsyncDisposableStack;
beforeEach(() => {
  stack = new AsyncDisposableStack();
});
afterEach(() => stack.disposeAsync());

async function open(times: SettleTimes): Promise<RoundScene> {
  const { root } = stack.use(await makeFolder({ 'root/other.md': 'other' }));
  const source = stack.use(openLocalSource({ root }));
  const look = () => source.look(listed('x.md', 'y.md'), { withContent: true, maxFileBytes: 65_536 });
  const [longMs, restMs] = [3 * quietMs, 4 * quietMs];
  return stack.use(await openRoundScene({ root, longMs, restMs, look, times }));
}

describe('a package whose files are saved all the time', () => {
  test(
    `is captured whole, and mixed only where it stood still for the quiet time (${looks} looks)`,
    async () => {
      const scene = await open(settling);
      for (let look = 0; look < looks; look += 1) await scene.lookOnce();
      expect(scene.captured.length).toBeGreaterThan(looks / 4);
      expect(await scene.tornInMotion(quietMs)).toEqual([]);
    },
    isLong ? 300_000 : 60_000,
  );

  test('CONTROL: without a quiet time mixtures are captured', async () => {
    const scene = await open({ quietMs: 0, burstMs: 0, capMs: 5000 });
    for (let look = 0; look < 5000 && !scene.hasTorn(); look += 1) await scene.lookOnce();
    expect(scene.hasTorn()).toBe(true);
  }, 120_000);
});
