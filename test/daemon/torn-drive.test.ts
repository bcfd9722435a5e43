/** Recipe R9 step 5: what a drive gives, changed between metadata and content, is captured whole or not at all. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../daemon/clock.ts';
import { PackageLooker, type LookSteps } from '../../daemon/package-looker.ts';
import type { PackageLook } from '../../src/core/look.ts';
import type { SettleTimes } from '../../src/core/settle-window.ts';
import { startFakeGraph, type FakeGraph } from '../support/fake-graph/fake-graph.ts';
import { listed, makeFolder } from '../support/source-folder.ts';
import { openTinySource } from '../support/tiny-source.ts';
import { startScript } from '../support/watched-processes.ts';

const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const wholeMs = isLong ? 60_000 : 5000;
const quietMs = 40;

/** The rounds that a version's two files come from; null where one is cut. */
interface Captured {
  readonly x: number | null;
  readonly y: number | null;
}

let stack: AsyncDisposableStack;
let fake: FakeGraph;
/** By round, how long the folder stood still in its middle. */
let still: Map<number, number>;
let captured: Captured[];

beforeEach(() => {
  stack = new AsyncDisposableStack();
  still = new Map();
  captured = [];
});
afterEach(() => stack.disposeAsync());

async function open(times: SettleTimes): Promise<() => Promise<void>> {
  const folder = stack.use(await makeFolder({ 'root/other.md': 'other' }));
  const writer = stack.use(
    await startScript('round-writer.ts', [folder.root, String(3 * quietMs), String(8 * quietMs)]),
  );
  writer.child.on('message', (told: { round: number; stillMs: number }) =>
    still.set(told.round, told.stillMs),
  );
  fake = stack.use(await startFakeGraph({ root: folder.root }));
  const { url, token, driveId } = fake;
  const { source } = stack.use(openTinySource({ url, token, drive: { kind: 'id', driveId }, rootPath: '' }));
  let ticket = 0;
  const steps: LookSteps = {
    ready: async () => false,
    open: async () => ({
      name: { agentKey: 'a', environment: 'dev' },
      ticket: (ticket += 1),
      attempts: [],
    }),
    look: () => source.look(listed('x.md', 'y.md'), { withContent: true, maxFileBytes: 65_536 }),
    isKnown: async () => false,
    isHalfWritten: async () => false,
    finish: async ({ look, extraWarnings }) => {
      // What was captured at the cap says so itself, and promises nothing.
      if (extraWarnings.length === 0 && isWhole(look)) captured.push(capturedOf(look));
      return null;
    },
    giveUp: async () => undefined,
    abandon: async (_, error) => {
      throw error;
    },
  };
  return async () => {
    // One without a memory, so that every look waits its time, also where nothing has changed.
    const looker = new PackageLooker({ steps, clock: systemClock, times, limit: (work) => work() });
    looker.hint('resync');
    await looker.idle();
  };
}

/** Only this becomes a version. */
function isWhole(look: PackageLook): boolean {
  return look.root === 'present' && look.files.every(({ state }) => state === 'present');
}

function capturedOf(look: PackageLook): Captured {
  const [x, y] = (look.root === 'present' ? look.files : []).map((file) =>
    file.state === 'present' ? roundOf(Buffer.from(file.content ?? []).toString()) : null,
  );
  return { x: x ?? null, y: y ?? null };
}

/** The one round that every line names. */
function roundOf(text: string): number | null {
  const rounds = new Set(text.match(/round \d{8}/g));
  const [only = ''] = rounds;
  return rounds.size === 1 && text.length === 3 * 4096 ? Number(only.slice(6)) : null;
}

const isTorn = ({ x, y }: Captured) => x !== y || x === null;

test(
  `a package that is saved all the time in a drive is captured whole, unless it stood still (R9, ${wholeMs / 1000} s)`,
  async () => {
    const lookOnce = await open({ quietMs, burstMs: quietMs, capMs: 5000 });
    for (const end = performance.now() + wholeMs; performance.now() < end;) await lookOnce();
    expect(captured.length).toBeGreaterThan(wholeMs / 1000);
    const newest = Math.max(0, ...captured.map(({ x }) => x ?? 0));
    while (!still.has(newest + 1)) await systemClock.sleep(10);
    // The round of `x` was under way; also where this machine was too busy to let the writer go on.
    const stoodStill = ({ x }: Captured) => x !== null && (still.get(x) ?? 0) >= quietMs;
    expect(captured.filter((version) => isTorn(version) && !stoodStill(version))).toEqual([]);
    expect(fake.writes).toEqual([]);
  },
  wholeMs + 60_000,
);

test('CONTROL: without a quiet time torn packages are captured from a drive', async () => {
  const lookOnce = await open({ quietMs: 0, burstMs: 0, capMs: 5000 });
  const found = () => captured.some((version) => isTorn(version) && Number(version.x) % 10 !== 0);
  for (const end = performance.now() + 60_000; performance.now() < end && !found();) await lookOnce();
  expect(found()).toBe(true);
}, 120_000);
