import { describe, expect, test } from 'vitest';
import { LookAgain } from '../../daemon/look-endings.ts';
import { PackageLooker, type FoundLook, type LookSteps } from '../../daemon/package-looker.ts';
import { sha256 } from '../../src/core/checksum.ts';
import { SourceError } from '../../src/core/errors.ts';
import type { PackageLook } from '../../src/core/look.ts';
import { lookPrint } from '../../src/core/look-print.ts';
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
    /** What each capture says of the version before. */
    torn: [] as (number | null)[],
    halfWritten: new Set<string>(),
    /** Resolves when the root has settled; null while it is well. */
    gate: null as Promise<void> | null,
    others: {} as Record<string, string>,
    gaveUp: 0,
    abandoned: [] as unknown[],
    waiting: [] as AttemptRow[],
    looks: 0,
    onLook: () => undefined as void | Promise<void>,
    onFinish: () => undefined as void,
  };
  let ticket = 0;
  const steps: LookSteps = {
    ready: async () => {
      const waits = world.gate !== null;
      await world.gate;
      return waits;
    },
    isHalfWritten: async (look) => world.halfWritten.has(textOf(look)),
    open: async () => {
      ticket += 1;
      return { name: { agentKey: 'a', environment: 'dev' }, ticket, attempts: world.waiting.splice(0) };
    },
    look: async () => {
      world.looks += 1;
      await world.onLook();
      return lookOf({ [path]: world.text, ...world.others });
    },
    isKnown: async (look) => world.known.has(lookPrint(look)),
    finish: async ({ look, extraWarnings, open, possiblyTorn }: FoundLook) => {
      world.onFinish();
      world.known = new Set([lookPrint(look)]);
      const warnings = extraWarnings.map((warning) => warning.code);
      const attempts = open.attempts.map((attempt) => attempt.id);
      world.captured.push({ text: textOf(look), at: clock.now(), warnings, attempts });
      world.torn.push(possiblyTorn);
      return world.captured.length;
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
    world.known.add(lookPrint(lookOf({ [path]: 'one' })));
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

  test('asks a source that has been waited for no second time in the same pass', async () => {
    const { clock, world, looker } = scene();
    let asked = 0;
    world.onLook = () => {
      asked += 1;
      throw new SourceError('wait', 'the service is away, and was asked again and again');
    };
    looker.hint('watch', { file: path, burst: false });
    await clock.advance(20_000);
    expect(world.captured.map((capture) => capture.text)).toEqual(['unreadable']);
    // Two passes; one that asks for another try is asked four times in each (the test above).
    expect(asked).toBe(2);
  });

  test('says nothing of a package whose source was closed under a look, and gives the requests back', async () => {
    const { clock, world, looker } = scene();
    const source = Promise.withResolvers<void>();
    world.onLook = async () => {
      await source.promise;
      throw new SourceError('stop', 'The source is closed.');
    };
    looker.hint('watch', { file: path, burst: false });
    await clock.advance(100);
    const stopped = looker.stop();
    source.resolve();
    await stopped;
    expect(world.captured).toEqual([]);
    expect(world.abandoned).toHaveLength(1);
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

describe('content that looks half written', () => {
  test('is read again after 150, 400, 1,000 and 2,500 ms before it counts, and not again when it is seen again', async () => {
    const { clock, world, looker } = scene();
    world.halfWritten.add('one');
    looker.hint('watch', { file: path, burst: false });
    await clock.advance(60 + 4049);
    expect(world.captured).toEqual([]);
    expect(world.looks).toBe(2 + 3);
    await clock.advance(1);
    expect(world.captured.map(({ text, at }) => ({ text, at }))).toEqual([{ text: 'one', at: 4110 }]);
    world.known.clear();
    looker.hint('resync');
    await clock.advance(0);
    expect(world.captured).toHaveLength(2);
  });

  test('goes back to settling when it changes meanwhile (control: without the wait the half is captured)', async () => {
    for (const isSuspicious of [true, false]) {
      const { clock, world, looker } = scene();
      if (isSuspicious) world.halfWritten.add('half');
      world.text = 'half';
      looker.hint('watch', { file: path, burst: false });
      await clock.advance(1000);
      world.text = 'whole';
      looker.hint('watch', { file: path, burst: false });
      await clock.advance(10_000);
      const texts = world.captured.map((capture) => capture.text);
      expect(texts).toEqual(isSuspicious ? ['whole'] : ['half', 'whole']);
    }
  });

  test('does not wait its time again after an error of ours', async () => {
    const { clock, world, looker } = scene();
    world.halfWritten.add('one');
    looker.hint('watch', { file: path, burst: false });
    const broken = new Error('database away');
    world.onFinish = () => {
      throw broken;
    };
    await clock.advance(4400);
    expect(world.abandoned).toEqual([broken]);
    world.onFinish = () => undefined;
    looker.hint('watch', { file: path, burst: false });
    await clock.advance(60);
    expect(world.captured).toHaveLength(1);
  });
});

describe('an error of ours', () => {
  test('is followed by another look that nobody has to hint at, later each time (F16)', async () => {
    const { clock, world, looker } = scene();
    world.onFinish = () => {
      throw new Error('database away');
    };
    looker.hint('watch', { file: path, burst: false });
    const failedAt: number[] = [];
    for (let second = 0; second < 20; second += 1) {
      await clock.advance(1000);
      while (failedAt.length < world.abandoned.length) failedAt.push(second);
    }
    expect(failedAt).toEqual([0, 0, 1, 3, 7, 12, 17]);
    world.onFinish = () => undefined;
    await clock.advance(6000);
    expect(world.captured.map((capture) => capture.text)).toEqual(['one']);
    await clock.advance(60_000);
    expect(world.looks).toBe(2 * (failedAt.length + 1));
  });
});

describe('the aftershock of a fast capture', () => {
  const other = 'second.md';
  const afterFirst = async (mode: 'fast' | 'settled' = 'fast') => {
    const made = scene(mode);
    made.world.others[other] = 'old';
    made.looker.hint('watch', { file: path, burst: false });
    await made.clock.advance(mode === 'fast' ? 60 : 2000);
    expect(made.world.captured).toHaveLength(1);
    return made;
  };

  test('waits the long window for a second file within 2 s, and tells that the version before may be torn', async () => {
    const { clock, world, looker } = await afterFirst();
    await clock.advance(1900);
    world.others[other] = 'new';
    looker.hint('watch', { file: other, burst: false });
    await clock.advance(399);
    expect(world.captured).toHaveLength(1);
    await clock.advance(1);
    expect(world.captured).toHaveLength(2);
    expect(world.torn).toEqual([null, 1]);
  });

  test.each([
    ['the same file changes', 'fast', path, 500],
    ['the second file changes later than that', 'fast', other, 2001],
    ['the environment waits 2 s anyway', 'settled', other, 500],
  ] as const)('says nothing where %s', async (_, mode, file, afterMs) => {
    const { clock, world, looker } = await afterFirst(mode);
    await clock.advance(afterMs);
    if (file === path) world.text = 'two';
    else world.others[other] = 'new';
    looker.hint('watch', { file, burst: false });
    await clock.advance(mode === 'fast' ? 60 : 2000);
    expect(world.torn).toEqual([null, null]);
  });

  test('says nothing where the second file was touched and holds what it held', async () => {
    const { clock, world, looker } = await afterFirst();
    world.text = 'two';
    looker.hint('watch', { file: path, burst: false });
    looker.hint('watch', { file: other, burst: false });
    await clock.advance(1000);
    expect(world.torn).toEqual([null, null]);
  });

  test('hears a hint that comes while the fast version is being stored', async () => {
    const { clock, world, looker } = scene();
    world.others[other] = 'old';
    looker.hint('watch', { file: path, burst: false });
    world.onFinish = () => {
      world.onFinish = () => undefined;
      world.others[other] = 'new';
      looker.hint('watch', { file: other, burst: false });
    };
    await clock.advance(1000);
    expect(world.torn).toEqual([null, 1]);
  });
});

describe('seven files saved one after another (live test 4)', () => {
  const names = Array.from({ length: 7 }, (_, index) => `file-${index}.md`);

  /** How many versions were made, how many of them lack a part, and which of these are marked as torn afterwards. */
  async function saveAll(mode: 'fast' | 'settled', gapMs: number) {
    const { clock, world, looker } = scene(mode);
    const held = new Map<number, number>();
    world.others = Object.fromEntries(names.map((name) => [name, 'old']));
    world.onFinish = () => {
      const saved = names.filter((name) => world.others[name] === 'new').length;
      held.set(world.captured.length + 1, saved);
    };
    for (const name of names) {
      world.others[name] = 'new';
      looker.hint('watch', { file: name, burst: false });
      await clock.advance(gapMs);
    }
    await clock.advance(5000);
    const torn = [...held].filter(([, saved]) => saved < names.length).map(([number]) => number);
    return { versions: held.size, torn, marked: world.torn.filter((number) => number !== null) };
  }

  test.each([5, 80, 200, 900, 1900])(
    '%i ms apart are one whole version where the mode is settled',
    async (gapMs) => {
      expect(await saveAll('settled', gapMs)).toEqual({ versions: 1, torn: [], marked: [] });
    },
  );

  test('are torn in the fast mode where the gaps are longer than its waits (control), and the first is marked', async () => {
    expect(await saveAll('fast', 5)).toEqual({ versions: 1, torn: [], marked: [] });
    // One fast version of the first file, then the aftershock's long wait takes in the others.
    expect(await saveAll('fast', 80)).toEqual({ versions: 2, torn: [1], marked: [1] });
    expect(await saveAll('fast', 200)).toEqual({ versions: 2, torn: [1], marked: [1] });
    const slow = await saveAll('fast', 900);
    expect(slow).toMatchObject({ versions: 7, torn: [1, 2, 3, 4, 5, 6] });
    expect(slow.marked).toContain(1);
  });
});

describe('while the root is not well', () => {
  test('a look waits, and its hints count from when the wait is over', async () => {
    const { clock, world, looker } = scene();
    const gate = Promise.withResolvers<void>();
    world.gate = gate.promise;
    looker.hint('watch', { file: path, burst: false });
    await clock.advance(60_000);
    expect(world.looks).toBe(0);
    world.gate = null;
    gate.resolve();
    await clock.advance(59);
    expect(world.captured).toEqual([]);
    await clock.advance(1);
    expect(world.captured).toMatchObject([{ text: 'one', warnings: [] }]);
  });

  test('a look under way is begun anew when the root is well again, and gives its requests back meanwhile', async () => {
    const { clock, world, looker } = scene();
    world.waiting = [attempt('ref_1')];
    const gate = Promise.withResolvers<void>();
    world.onLook = () => {
      world.gate = gate.promise;
      throw new LookAgain();
    };
    looker.hint('request');
    await clock.advance(10_000);
    expect(world.looks).toBe(1);
    expect(world.abandoned).toHaveLength(1);
    expect(looker.heldAttempts).toEqual([]);
    world.onLook = () => undefined;
    world.waiting = [attempt('ref_1')];
    world.gate = null;
    gate.resolve();
    await clock.advance(100);
    expect(world.captured.map((capture) => capture.attempts)).toEqual([['ref_1']]);
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

function lookOf(texts: Readonly<Record<string, string>>): PackageLook {
  const files = Object.entries(texts).map(([name, text]) => {
    const content = new TextEncoder().encode(text);
    const relativePath = name as RelativePath;
    return {
      state: 'present' as const,
      relativePath,
      checksum: sha256(content),
      sizeBytes: content.length,
      content,
    };
  });
  return { root: 'present', files, notices: [] };
}

function textOf(look: PackageLook): string {
  if (look.root === 'trouble') return look.code;
  const file = look.files.find(({ relativePath }) => relativePath === path);
  return file?.state === 'present' ? new TextDecoder().decode(file.content ?? undefined) : '';
}
