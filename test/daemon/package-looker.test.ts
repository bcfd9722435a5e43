import { describe, expect, test } from 'vitest';
import { PackageLooker, type FoundLook, type LookSteps } from '../../daemon/package-looker.ts';
import { sha256 } from '../../src/core/checksum.ts';
import { SourceError } from '../../src/core/errors.ts';
import type { PackageLook } from '../../src/core/look.ts';
import type { RelativePath } from '../../src/core/package.ts';
import { settleTimes } from '../../src/core/settle-window.ts';
import type { AttemptRow } from '../../src/store/refreshes.ts';
import { FakeClock } from '../support/fake-clock.ts';

const path = 'rules.md' as RelativePath;

/** A folder of one file, a looker on it, and everything that the looker did. */
function scene(mode: 'fast' | 'settled' = 'fast') {
  const clock = new FakeClock();
  const world = {
    text: 'one',
    known: new Set<string>(),
    captured: [] as { text: string; at: number; warnings: string[]; attempts: string[] }[],
    gaveUp: 0,
    abandoned: [] as unknown[],
    waiting: [] as AttemptRow[],
    looks: 0,
    onLook: () => undefined as void,
  };
  let ticket = 0;
  const steps: LookSteps = {
    open: async () => {
      ticket += 1;
      return { name: { agentKey: 'a', environment: 'dev' }, ticket, attempts: world.waiting.splice(0) };
    },
    look: async () => {
      world.looks += 1;
      world.onLook();
      return lookOf(world.text);
    },
    isKnown: async (look) => world.known.has(textOf(look)),
    finish: async ({ look, extraWarnings, open }: FoundLook) => {
      world.known = new Set([textOf(look)]);
      const warnings = extraWarnings.map((warning) => warning.code);
      const attempts = open.attempts.map((attempt) => attempt.id);
      world.captured.push({ text: textOf(look), at: clock.now(), warnings, attempts });
    },
    giveUp: async () => {
      world.gaveUp += 1;
    },
    abandon: async (_, error) => {
      world.abandoned.push(error);
    },
  };
  const looker = new PackageLooker({ steps, clock, times: settleTimes[mode], limit: (work) => work() });
  return { clock, world, looker };
}

describe('a looker that settles', () => {
  test('captures a single change after the fast quiet window, and not before', async () => {
    const { clock, world, looker } = scene();
    looker.hint('watch', { file: path, burst: false });
    await clock.advance(59);
    expect(world.captured).toEqual([]);
    await clock.advance(1);
    expect(world.captured).toEqual([{ text: 'one', at: 60, warnings: [], attempts: [] }]);
  });

  test('waits the settled window where the environment asks for it', async () => {
    const { clock, world, looker } = scene('settled');
    looker.hint('watch', { file: path, burst: false });
    await clock.advance(1999);
    expect(world.captured).toEqual([]);
    await clock.advance(1);
    expect(world.captured.map((capture) => capture.text)).toEqual(['one']);
  });

  test('waits longer when two listed files change together, when a file goes, and for a folder', async () => {
    for (const hints of [
      [
        { file: path, burst: false },
        { file: 'b.md', burst: false },
      ],
      [{ file: null, burst: true }],
    ]) {
      const { clock, world, looker } = scene();
      for (const hint of hints) looker.hint('watch', hint);
      await clock.advance(399);
      expect(world.captured).toEqual([]);
      await clock.advance(1);
      expect(world.captured).toHaveLength(1);
    }
  });

  test('never captures what one pass saw and the next did not (control: the first pass saw a torn file)', async () => {
    const { clock, world, looker } = scene();
    world.text = 'half';
    looker.hint('watch', { file: path, burst: false });
    await clock.advance(30);
    world.text = 'whole';
    await clock.advance(500);
    expect(world.looks).toBeGreaterThan(2);
    expect(world.captured.map((capture) => capture.text)).toEqual(['whole']);
  });

  test('lets each further hint move the quiet window on', async () => {
    const { clock, world, looker } = scene();
    looker.hint('watch', { file: path, burst: false });
    for (let hint = 0; hint < 10; hint += 1) {
      await clock.advance(50);
      looker.hint('watch', { file: path, burst: false });
    }
    expect(world.captured).toEqual([]);
    await clock.advance(60);
    expect(world.captured).toHaveLength(1);
  });

  test('is not kept from being quiet by a timer or by people who ask', async () => {
    const { clock, world, looker } = scene('settled');
    for (let second = 0; second < 3; second += 1) {
      looker.hint('resync');
      looker.hint('request');
      await clock.advance(1000);
    }
    expect(world.captured[0]).toMatchObject({ at: 2000, warnings: [] });
  });

  test('answers at once, without waiting, what the store already holds', async () => {
    const { clock, world, looker } = scene('settled');
    world.known.add('one');
    looker.hint('request');
    await clock.advance(0);
    expect(world.captured.map((capture) => capture.at)).toEqual([0]);
  });

  test('captures at the cap with a warning when two passes in a row agree', async () => {
    const { clock, world, looker } = scene();
    const touched = setTouches(clock, looker);
    await touched(5000);
    expect(world.captured).toMatchObject([{ text: 'one', warnings: ['possibly_torn'] }]);
    expect(world.captured[0]?.at).toBe(5000);
  });

  test('captures nothing at the cap when the files change between the two passes, and says so', async () => {
    const { clock, world, looker } = scene();
    let round = 0;
    world.onLook = () => {
      round += 1;
      world.text = `round ${round}`;
    };
    await setTouches(clock, looker)(5000);
    expect(world.captured).toEqual([]);
    expect(world.gaveUp).toBe(1);
  });

  test('looks again for a hint that comes while the last pass reads, and not for one before it', async () => {
    const { clock, world, looker } = scene();
    looker.hint('watch', { file: path, burst: false });
    looker.hint('watch', { file: path, burst: false });
    await clock.advance(60);
    expect(world.looks).toBe(2);
    let hinted = false;
    world.onLook = () => {
      if (!hinted) looker.hint('watch', { file: path, burst: false });
      hinted = true;
      world.text = 'two';
    };
    looker.hint('watch', { file: path, burst: false });
    await clock.advance(1000);
    expect(world.captured.at(-1)?.text).toBe('two');
    expect(looker.busy).toBe(false);
  });

  test('answers every request that was waiting before the pass that captured', async () => {
    const { clock, world, looker } = scene();
    world.waiting = [attempt('ref_1')];
    looker.hint('request');
    await clock.advance(30);
    world.waiting = [attempt('ref_2')];
    looker.hint('request');
    await clock.advance(200);
    expect(world.captured.map((capture) => capture.attempts)).toEqual([['ref_1', 'ref_2']]);
    expect(looker.heldAttempts).toEqual([]);
  });

  test('asks a source that cannot answer again, and then tells it as unreadable instead of throwing', async () => {
    const { clock, world, looker } = scene();
    world.onLook = () => {
      throw new SourceError('retry', 'the reader died');
    };
    looker.hint('watch', { file: path, burst: false });
    await clock.advance(20_000);
    expect(world.captured.map((capture) => capture.text)).toEqual(['unreadable']);
    expect(world.abandoned).toEqual([]);
  });

  test('gives the requests back after an error of ours, and looks again at the next hint', async () => {
    const { clock, world, looker } = scene();
    const broken = new Error('database away');
    world.onLook = () => {
      throw broken;
    };
    looker.hint('watch', { file: path, burst: false });
    await clock.advance(100);
    expect(world.abandoned).toEqual([broken]);
    world.onLook = () => undefined;
    looker.hint('watch', { file: path, burst: false });
    await clock.advance(100);
    expect(world.captured).toHaveLength(1);
  });
});

function setTouches(clock: FakeClock, looker: PackageLooker) {
  return async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 50) {
      looker.hint('watch', { file: path, burst: false });
      await clock.advance(50);
    }
    await clock.advance(50);
  };
}

function attempt(id: string): AttemptRow {
  return {
    id,
    agentKey: 'a',
    environment: 'dev',
    actorId: 1,
    acceptShrink: false,
    state: 'RUNNING',
    outcome: null,
    reason: null,
    message: null,
    faults: [],
    warnings: [],
    matchingNumber: null,
    loadedNumber: null,
  };
}

function lookOf(text: string): PackageLook {
  const content = new TextEncoder().encode(text);
  return {
    root: 'present',
    files: [
      { state: 'present', relativePath: path, checksum: sha256(content), sizeBytes: content.length, content },
    ],
    notices: [],
  };
}

function textOf(look: PackageLook): string {
  if (look.root === 'trouble') return look.code;
  const [file] = look.files;
  return file?.state === 'present' ? new TextDecoder().decode(file.content ?? undefined) : '';
}
