import { describe, expect, test } from 'vitest';
import { RootGuard, type RootChange } from '../../daemon/root-guard.ts';
import type { RootSight } from '../../src/core/root-guard.ts';
import { FakeClock } from '../support/fake-clock.ts';

const good: RootSight = {
  path: '/knowledge',
  folder: 'there',
  place: { realPath: '/knowledge', identity: '1:1' },
  files: new Map([['a.md', true]]),
};
const absent: RootSight = { ...good, folder: 'absent', place: null, files: new Map([['a.md', false]]) };

/** A guard on a root that a test exchanges, with everything that it said and did. */
async function scene() {
  const clock = new FakeClock();
  const world = {
    see: async () => good,
    looks: [] as number[],
    changes: [] as (RootChange & { at: number })[],
    errors: [] as unknown[],
  };
  const guard = new RootGuard({
    path: '/knowledge',
    everyMs: 1000,
    answerMs: 2000,
    clock,
    see: () => {
      world.looks.push(clock.now());
      return world.see();
    },
    onChange: (change) => world.changes.push({ ...change, at: clock.now() }),
    onError: (error) => world.errors.push(error),
  });
  await guard.look();
  const stop = new AbortController();
  const watching = guard.watchForever(stop.signal);
  const told = () => world.changes.map(({ from, to, at }) => [from, to, at]);
  return { clock, world, guard, stop, watching, told };
}

describe('the root guard', () => {
  test('observes each second, a suspect root sooner, and says each change once', async () => {
    const { clock, world, guard, told } = await scene();
    await clock.advance(2500);
    expect(world.looks).toEqual([0, 1000, 2000]);
    world.see = async () => absent;
    await clock.advance(60_000);
    expect(world.looks.slice(3, 9)).toEqual([3000, 3200, 4200, 5200, 6200, 7200]);
    expect(guard.condition).toEqual({
      root: 'missing',
      rootMessage: 'The root folder "/knowledge" is not there.',
    });
    expect(guard.identity).toBeNull();
    world.see = async () => good;
    await clock.advance(3000);
    expect(told()).toEqual([
      [null, 'ok', 0],
      ['ok', 'suspect', 3000],
      ['suspect', 'missing', 7200],
      ['missing', 'returned', 63_200],
      ['returned', 'ok', 65_200],
    ]);
    expect(world.changes.at(-1)).toMatchObject({ lost: true, exchanged: false, identity: '1:1' });
    expect(guard.condition).toEqual({ root: 'ok', rootMessage: null });
  });

  test('lets those who wait go when the root is ok or missing, and when nobody watches any more', async () => {
    const { clock, world, guard, stop } = await scene();
    expect(await guard.settled()).toBe('ok');
    world.see = async () => absent;
    await clock.advance(1000);
    const settled: unknown[] = [];
    void guard.settled().then((state) => settled.push(state));
    await clock.advance(4000);
    expect(settled).toEqual([]);
    await clock.advance(1000);
    expect(settled).toEqual(['missing']);
    world.see = async () => good;
    await clock.advance(1000);
    void guard.settled().then((state) => settled.push(state));
    stop.abort();
    await clock.advance(1000);
    expect(settled).toEqual(['missing', null]);
  });

  test('answers whoever asks with an observation that began after the question, one for all who ask', async () => {
    const { clock, world, guard } = await scene();
    const first = Promise.withResolvers<RootSight>();
    world.see = () => first.promise;
    const early = guard.look();
    await clock.advance(0);
    world.see = async () => absent;
    const late = [guard.look(), guard.look(), guard.look()];
    first.resolve(good);
    await early;
    expect(await Promise.all(late)).toEqual([true, true, true]);
    expect(guard.state).toBe('suspect');
    expect(world.looks).toHaveLength(3);
  });

  test('asks a file system that hangs one question, and keeps nobody waiting for it', async () => {
    const { clock, world, guard, told } = await scene();
    const hanging = Promise.withResolvers<RootSight>();
    world.see = () => hanging.promise;
    const answers: unknown[] = [];
    for (let asked = 0; asked < 5; asked += 1) void guard.look().then((answer) => answers.push(answer));
    await clock.advance(10_000);
    expect([guard.state, answers]).toEqual(['ok', [false, false, false, false, false]]);
    await clock.advance(20_000);
    expect(world.looks).toHaveLength(2);
    // For good it is out of reach, which is one alarm and no failure of any file (F50, F58).
    expect(guard.condition).toEqual({
      root: 'missing',
      rootMessage: 'The root folder "/knowledge" cannot be reached (ETIMEDOUT).',
    });
    world.see = async () => good;
    hanging.resolve(good);
    await clock.advance(10_000);
    expect(told()).toEqual([
      [null, 'ok', 0],
      ['ok', 'suspect', expect.any(Number)],
      ['suspect', 'missing', expect.any(Number)],
      ['missing', 'returned', 30_000],
      ['returned', 'ok', expect.any(Number)],
    ]);
  });

  test('takes trouble of this process for no trouble of the root', async () => {
    const { clock, world, guard } = await scene();
    const tooMany = new Error('too many open files');
    world.see = async () => {
      throw tooMany;
    };
    await clock.advance(5000);
    expect([guard.state, world.errors]).toEqual(['ok', [tooMany, tooMany, tooMany, tooMany, tooMany]]);
  });

  test('spends at most a tenth of its time on many files', async () => {
    const { clock, world } = await scene();
    world.see = async () => {
      await clock.sleep(500);
      return good;
    };
    await clock.advance(60_000);
    expect(world.looks.length).toBeLessThan(15);
  });
});
