import { systemClock } from '../../daemon/clock.ts';
import { PackageLooker, type LookSteps } from '../../daemon/package-looker.ts';
import type { PackageLook } from '../../src/core/look.ts';
import type { SettleTimes } from '../../src/core/settle-window.ts';
import { startScript } from './watched-processes.ts';

/** What one version of a package of two files holds: the rounds that they come from, or that one of them is cut. */
export interface CapturedRounds {
  readonly x: number | 'cut';
  readonly y: number | 'cut';
}

export interface RoundSceneOptions {
  /** Where the writer saves `x.md` and `y.md`, round after round. */
  readonly root: string;
  /** How long it stands still in the middle of every tenth round, and between two rounds, milliseconds. */
  readonly longMs: number;
  readonly restMs: number;
  /** Reads both files. */
  readonly look: () => Promise<PackageLook>;
  readonly times: SettleTimes;
  /** Whether a look that was captured counts; default all. */
  readonly counts?: (look: PackageLook) => boolean;
}

/** A package that is saved all the time (recipe R9), by a process of its own, and whatever the real looker captures of it. */
export interface RoundScene extends AsyncDisposable {
  readonly captured: readonly CapturedRounds[];
  lookOnce(): Promise<void>;
  /** What was captured torn although its round did not stand still for so long. */
  tornInMotion(quietMs: number): Promise<CapturedRounds[]>;
  /** Whether something was captured torn of a round that never stood still by itself. */
  hasTorn(): boolean;
}

export async function openRoundScene(options: RoundSceneOptions): Promise<RoundScene> {
  const { root, longMs, restMs, look, times, counts = () => true } = options;
  const writer = await startScript('round-writer.ts', [root, `${longMs}`, `${restMs}`]);
  /** By round, how long the folder stood still in its middle. */
  const still = new Map<number, number>();
  writer.child.on('message', (told: { round: number; stillMs: number }) =>
    still.set(told.round, told.stillMs),
  );
  const captured: CapturedRounds[] = [];
  const steps = stepsOf(look, (found) => {
    if (counts(found)) captured.push(roundsOf(found));
  });
  return {
    captured,
    async lookOnce() {
      // One without a memory, so that every look waits its time, also where nothing has changed.
      const looker = new PackageLooker({ steps, clock: systemClock, times, limit: (work) => work() });
      looker.hint('resync');
      await looker.idle();
    },
    async tornInMotion(quietMs) {
      // What the writer says of the round that is under way now.
      const newest = Math.max(0, ...captured.map(({ x }) => (x === 'cut' ? 0 : x)));
      while (!still.has(newest + 1)) await systemClock.sleep(10);
      // The round of `x` was under way; also where this machine was too busy to let the writer go on.
      const stoodStill = ({ x }: CapturedRounds) => x !== 'cut' && (still.get(x) ?? 0) >= quietMs;
      return captured.filter((version) => isTorn(version) && !stoodStill(version));
    },
    hasTorn: () => captured.some((version) => isTorn(version) && Number(version.x) % 10 !== 0),
    [Symbol.asyncDispose]: () => writer[Symbol.asyncDispose](),
  };
}

function stepsOf(look: RoundSceneOptions['look'], capture: (look: PackageLook) => void): LookSteps {
  let ticket = 0;
  return {
    ready: async () => false,
    open: async () => ({
      name: { agentKey: 'a', environment: 'dev' },
      ticket: (ticket += 1),
      attempts: [],
    }),
    look,
    isKnown: async () => false,
    isHalfWritten: async () => false,
    finish: async ({ look: found, extraWarnings }) => {
      // What was captured at the cap says so itself, and promises nothing.
      if (extraWarnings.length === 0) capture(found);
      return null;
    },
    giveUp: async () => undefined,
    abandon: async (_, error) => {
      throw error;
    },
  };
}

function roundsOf(look: PackageLook): CapturedRounds {
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

function isTorn({ x, y }: CapturedRounds): boolean {
  return x !== y || x === 'cut';
}
