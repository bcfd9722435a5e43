/** Recipe R9: no version is a mixture of two states of the folder, unless the folder stood still in between. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../daemon/clock.ts';
import { PackageLooker, type LookSteps } from '../../daemon/package-looker.ts';
import type { PackageLook } from '../../src/core/look.ts';
import type { SettleTimes } from '../../src/core/settle-window.ts';
import { openLocalSource } from '../../src/source/local-source.ts';
import { listed, makeFolder } from '../support/source-folder.ts';
import { startScript } from '../support/watched-processes.ts';

const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const looks = isLong ? 500 : 40;
const quietMs = 40;
const settling: SettleTimes = { quietMs, burstMs: quietMs, capMs: 5000 };

/** What one version holds: the rounds of its two files, or that one of them is cut. */
interface Captured {
  readonly x: number | 'cut';
  readonly y: number | 'cut';
}

let stack: AsyncDisposableStack;
/** By round, how long the folder stood still in its middle. */
let still: Map<number, number>;
let makeLooker: () => PackageLooker;
let captured: Captured[];

beforeEach(() => {
  stack = new AsyncDisposableStack();
  still = new Map();
  captured = [];
});
afterEach(() => stack.disposeAsync());

async function open(times: SettleTimes): Promise<void> {
  const folder = stack.use(await makeFolder({ 'root/other.md': 'other' }));
  const source = stack.use(openLocalSource({ root: folder.root }));
  const args = [folder.root, String(3 * quietMs), String(4 * quietMs)];
  const { child } = stack.use(await startScript('round-writer.ts', args));
  child.on('message', (told: { round: number; stillMs: number }) => still.set(told.round, told.stillMs));
  const options = { withContent: true, maxFileBytes: 65_536 };
  let ticket = 0;
  const steps: LookSteps = {
    ready: async () => false,
    open: async () => ({
      name: { agentKey: 'a', environment: 'dev' },
      ticket: (ticket += 1),
      attempts: [],
    }),
    look: () => source.look(listed('x.md', 'y.md'), options),
    isKnown: async () => false,
    isHalfWritten: async () => false,
    finish: async ({ look, extraWarnings }) => {
      // What was captured at the cap says so itself, and promises nothing.
      if (extraWarnings.length === 0) captured.push(capturedOf(look));
      return null;
    },
    giveUp: async () => undefined,
    abandon: async (_, error) => {
      throw error;
    },
  };
  makeLooker = () => new PackageLooker({ steps, clock: systemClock, times, limit: (work) => work() });
}

function capturedOf(look: PackageLook): Captured {
  const [x, y] = (look.root === 'present' ? look.files : []).map((file) =>
    file.state === 'present' ? roundOf(Buffer.from(file.content ?? []).toString()) : 'cut',
  );
  return { x: x ?? 'cut', y: y ?? 'cut' };
}

/** The one round that every line names. */
function roundOf(text: string): number | 'cut' {
  const rounds = new Set(text.match(/round \d{8}/g));
  const [only = ''] = rounds;
  return rounds.size === 1 && text.length === 3 * 4096 ? Number(only.slice(6)) : 'cut';
}

async function lookOnce(): Promise<void> {
  // One without a memory, so that every look waits its time, also where nothing has changed.
  const looker = makeLooker();
  looker.hint('resync');
  await looker.idle();
}

const isMixed = ({ x, y }: Captured) => x !== y || x === 'cut';

describe('a package whose files are saved all the time', () => {
  test(
    `is captured whole, and mixed only where it stood still for the quiet time (${looks} looks)`,
    async () => {
      await open(settling);
      for (let look = 0; look < looks; look += 1) await lookOnce();
      expect(captured.length).toBeGreaterThan(looks / 4);
      // What the writer says of the round that is under way now.
      const newest = Math.max(0, ...captured.map(({ x }) => (x === 'cut' ? 0 : x)));
      while (!still.has(newest + 1)) await systemClock.sleep(10);
      // The round of `x` was under way; also where this machine was too busy to let the writer go on.
      const stoodStill = ({ x }: Captured) => x !== 'cut' && (still.get(x) ?? 0) >= quietMs;
      const torn = captured.filter((version) => isMixed(version) && !stoodStill(version));
      expect(torn).toEqual([]);
    },
    isLong ? 300_000 : 60_000,
  );

  test('CONTROL: without a quiet time mixtures are captured', async () => {
    await open({ quietMs: 0, burstMs: 0, capMs: 5000 });
    const found = () => captured.some((version) => isMixed(version) && Number(version.x) % 10 !== 0);
    for (let look = 0; look < 5000 && !found(); look += 1) await lookOnce();
    expect(found()).toBe(true);
  }, 120_000);
});
