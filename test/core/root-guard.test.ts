import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expectAnew, nextRoot, type RootMemory, type RootSight } from '../../src/core/root-guard.ts';

const names = Array.from({ length: 10 }, (_, index) => `file-${index}.md`);

/** A root with these of the ten required files, in a folder of this name. */
function sight(present: readonly string[] | number = 10, place = 'a'): RootSight {
  const there = new Set(typeof present === 'number' ? names.slice(0, present) : present);
  return {
    path: '/knowledge',
    folder: 'there',
    place: { realPath: '/knowledge', identity: place },
    files: new Map(names.map((name) => [name, there.has(name)])),
  };
}

const nothing = new Map(names.map((name) => [name, false]));
const absent: RootSight = { path: '/knowledge', folder: 'absent', place: null, files: nothing };
const empty: RootSight = { ...sight(0), folder: 'empty' };

/** Feeds observations at their times and answers the state after each. */
function run(steps: readonly (readonly [at: number, sight: RootSight])[]): {
  states: string[];
  memory: RootMemory;
} {
  let memory: RootMemory | null = null;
  const states: string[] = [];
  for (const [at, seen] of steps) {
    memory = nextRoot(memory, seen, at);
    states.push(memory.state);
  }
  if (memory === null) throw new TypeError('A run has at least one step.');
  return { states, memory };
}

const lost = (seen: RootSight, from = 1000) =>
  [0, 200, 1200, 4200].map((after) => [from + after, seen] as const);

describe('a root that is ok', () => {
  test.each<[string, RootSight, string | null]>([
    ['is absent', absent, 'absent'],
    ['is no folder', { ...absent, folder: 'not_a_folder' }, 'not_a_folder'],
    ['is empty', empty, 'empty'],
    ['is another folder', sight(10, 'b'), 'exchanged'],
    [
      'is reached by another way',
      { ...sight(), place: { realPath: '/elsewhere', identity: 'a' } },
      'exchanged',
    ],
    ['has lost half of its files', sight(5), 'files_vanished'],
    ['has lost four of ten files', sight(6), null],
    ['has all its files', sight(), null],
  ])('that %s is suspect, or not, for the right reason (F50)', (_, seen, reason) => {
    const { memory } = run([
      [0, sight()],
      [1000, seen],
    ]);
    expect(memory.state).toBe(reason === null ? 'ok' : 'suspect');
    expect(memory.trouble?.reason ?? null).toBe(reason);
  });

  test('with fewer than five files is left to its packages, and so are four deletions', () => {
    const few = (present: number): RootSight => ({
      ...sight(),
      files: new Map(names.slice(0, 4).map((name, index) => [name, index < present])),
    });
    const { states } = run([
      [0, few(4)],
      [1000, few(0)],
    ]);
    expect(states).toEqual(['ok', 'ok']);
  });

  test('that is emptied over several observations is seen to lose everything', () => {
    const steps = [10, 9, 8, 7, 6, 5].map((present, index) => [index * 100, sight(present)] as const);
    expect(run(steps).states.at(-1)).toBe('suspect');
    // Control: an author who deletes one file every five seconds loses nobody's root.
    const slow = [10, 9, 8, 7, 6, 5].map((present, index) => [index * 5000, sight(present)] as const);
    expect(new Set(run(slow).states)).toEqual(new Set(['ok']));
  });

  test('keeps what it saw last, however long ago that was, as after a sleep', () => {
    const { states } = run([
      [0, sight()],
      [3_600_000, sight(0)],
    ]);
    expect(states).toEqual(['ok', 'suspect']);
  });
});

describe('a suspect root', () => {
  test('is looked at again after 200 ms, 1 s and 3 s, and is missing then', () => {
    const { states, memory } = run([[0, sight()], ...lost(absent)]);
    expect(states).toEqual(['ok', 'suspect', 'suspect', 'suspect', 'missing']);
    expect(memory).toMatchObject({ lost: true, trouble: { reason: 'absent' } });
  });

  test('is not missing sooner for being looked at more often', () => {
    const often = Array.from({ length: 200 }, (_, index) => [1000 + index, absent] as const);
    expect(new Set(run([[0, sight()], ...often]).states)).toEqual(new Set(['ok', 'suspect']));
  });

  test('that is whole again is ok after two equal passes 2 s apart, and nobody was alarmed', () => {
    const { states, memory } = run([
      [0, sight()],
      [1000, absent],
      [1200, sight()],
      [3199, sight()],
      [3200, sight()],
    ]);
    expect(states).toEqual(['ok', 'suspect', 'returned', 'returned', 'ok']);
    expect(memory.lost).toBe(false);
  });

  test('with good content in another folder goes on there', () => {
    const { states, memory } = run([
      [0, sight()],
      [1000, sight(10, 'b')],
      [1200, sight(10, 'b')],
      [3200, sight(10, 'b')],
      [4000, sight(10, 'b')],
    ]);
    expect(states).toEqual(['ok', 'suspect', 'returned', 'ok', 'ok']);
    expect(memory.good?.identity).toBe('b');
  });

  test('that has really lost a few files is given back to its packages without an alarm', () => {
    const { states } = run([
      [0, sight()],
      [1000, sight(2)],
      [1200, sight(8)],
      [2200, sight(8)],
      [5200, sight(8)],
      [7200, sight(8)],
    ]);
    expect(states).toEqual(['ok', 'suspect', 'suspect', 'suspect', 'returned', 'ok']);
  });

  test('that comes and goes is missing in the end', () => {
    const steps = Array.from(
      { length: 40 },
      (_, second) => [second * 1000, second % 2 === 0 ? sight() : absent] as const,
    );
    expect(run(steps).states).toContain('missing');
  });
});

describe('a missing root', () => {
  const missing = [[0, sight()] as const, ...lost(empty)];

  test('is returned when everything that was there is there, and ok when that stays so for 2 s', () => {
    const { states } = run([...missing, [6000, sight(9)], [7000, sight()], [8000, sight()], [9000, sight()]]);
    expect(states.slice(-4)).toEqual(['missing', 'returned', 'returned', 'ok']);
  });

  test('begins its 2 s anew when more files arrive', () => {
    const more = { ...sight(), files: new Map([...sight().files, ['more.md', true]]) };
    const { states } = run([
      ...missing,
      [6000, sight()],
      [7900, more],
      [8100, more],
      [9800, more],
      [9900, more],
    ]);
    expect(states.slice(-5)).toEqual(['returned', 'returned', 'returned', 'returned', 'ok']);
  });

  test('that goes again before it is quiet is missing, not suspect', () => {
    const { states } = run([...missing, [6000, sight()], [7000, absent]]);
    expect(states.slice(-2)).toEqual(['returned', 'missing']);
  });

  test('with fewer files, but not so few that it looks lost, is taken after a minute of standing still', () => {
    const { states } = run([
      ...missing,
      [6000, sight(8)],
      [65_999, sight(8)],
      [66_000, sight(8)],
      [68_000, sight(8)],
    ]);
    expect(states.slice(-4)).toEqual(['missing', 'missing', 'returned', 'ok']);
    // Control: half of them is what loss looks like, however long it lasts.
    const half = [...missing, [6000, sight(5)] as const, [600_000, sight(5)] as const];
    expect(run(half).states.at(-1)).toBe('missing');
  });

  test('need bring back nothing that the registry no longer asks for', () => {
    const { memory } = run(missing);
    expect(nextRoot(memory, sight(3), 6000).state).toBe('missing');
    expect(nextRoot(expectAnew(memory), sight(3), 6000).state).toBe('returned');
    const shorter = { ...sight(3), files: new Map(names.slice(0, 3).map((name) => [name, true])) };
    expect(nextRoot(memory, shorter, 6000).state).toBe('returned');
  });

  test('at the start is missing at once, and whatever comes is taken', () => {
    for (const seen of [absent, empty]) {
      const { states } = run([
        [0, seen],
        [1000, sight(2)],
        [3000, sight(2)],
      ]);
      expect(states).toEqual(['missing', 'returned', 'ok']);
    }
    expect(run([[0, sight(2)]]).states).toEqual(['ok']);
  });
});

test('whatever happens, a root that stays whole is ok within 10 s, and one that stays lost is missing', () => {
  const any = fc.constantFrom(absent, empty, sight(), sight(0), sight(4), sight(7), sight(10, 'b'));
  const steps = fc.array(fc.tuple(fc.integer({ min: 1, max: 5000 }), any), { maxLength: 30 });
  fc.assert(
    fc.property(steps, fc.boolean(), (history, staysWhole) => {
      let memory = nextRoot(null, sight(), 0);
      let at = 0;
      const feed = (pause: number, seen: RootSight) => {
        at += pause;
        const before = memory;
        memory = nextRoot(memory, seen, at);
        // `missing` is reached by nobody who was ok a moment ago, and `ok` by nobody who was not whole for 2 s.
        if (memory.state === 'missing') expect(before.state).not.toBe('ok');
        if (memory.state === 'ok') expect(['ok', 'returned']).toContain(before.state);
      };
      for (const [pause, seen] of history) feed(pause, seen);
      for (let second = 0; second < 10; second += 1) feed(1000, staysWhole ? sight() : absent);
      expect(memory.state).toBe(staysWhole ? 'ok' : 'missing');
    }),
    { numRuns: 500 },
  );
});
