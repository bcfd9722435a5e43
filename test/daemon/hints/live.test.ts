import { closeSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FSWatcher } from 'chokidar';
import { describe, expect, test } from 'vitest';
import { openWatcher } from '../../../daemon/hints/open-watcher.ts';
import { createAsk } from '../../support/graphql.ts';
import { isWhole, liveFolder, saveStyles, wholeText, type LiveFolder } from '../../support/live-folder.ts';
import { eventually } from '../../support/processes.ts';

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const watcherAlone = { watchMode: 'native' } as const;
/** No net at all: what would bring a change in here is no net of ours. */
const noNets = { watchMode: 'sweep' } as const;
const limitMs = long ? 300_000 : 60_000;

/** Until the last version holds this text. */
const holds = (live: LiveFolder, agent: string, text: string) =>
  eventually(
    () => live.texts(agent),
    (texts) => texts.at(-1) === text,
    25_000,
    20,
  );

/** Whether the text has become a version within two seconds, for controls, where it must not. */
async function becomesKnown(live: LiveFolder, agent: string, text: string): Promise<boolean> {
  await sleep(2000);
  return (await live.texts(agent)).includes(text);
}

// The tests wait for most of their time, each in a folder and a database of its own.
describe.concurrent('with the watcher alone', () => {
  test(
    'each of many saves in four styles is a version (watching.md, live test 1)',
    async () => {
      const agents = Object.keys(saveStyles) as (keyof typeof saveStyles)[];
      const keys = agents.map((_, index) => `agent_${index}`);
      await using live = await liveFolder({ agents: keys, local: watcherAlone });
      const saves = long ? 50 : 5;
      await Promise.all(
        agents.map(async (style, index) => {
          const agent = `agent_${index}`;
          for (let save = 1; save <= saves; save += 1) {
            await saveStyles[style](live.file(agent), wholeText(`${style} ${save}`));
            await holds(live, agent, wholeText(`${style} ${save}`));
          }
        }),
      );
      for (const [index, style] of agents.entries()) {
        const texts = await live.texts(`agent_${index}`);
        // What was there before the first save is not what this is about.
        expect(texts.filter((text) => text !== wholeText('first'))).toEqual(
          Array.from({ length: saves }, (_, save) => wholeText(`${style} ${save + 1}`)),
        );
      }
    },
    limitMs,
  );

  if (long)
    test('a save is no version where nothing hints (control)', async () => {
      await using live = await liveFolder({ agents: ['a'], local: noNets });
      // The first one may still be met by the full look with which a daemon begins.
      await saveStyles['in place'](live.file('a'), wholeText('perhaps'));
      await sleep(2000);
      await saveStyles['in place'](live.file('a'), wholeText('unseen'));
      expect(await becomesKnown(live, 'a', wholeText('unseen'))).toBe(false);
    });

  test(
    'the second of two saves 5 to 200 ms apart is active in the end (live test 2, W01)',
    async () => {
      await using live = await liveFolder({ agents: ['a'], local: watcherAlone });
      const pairs = long ? 200 : 10;
      for (let pair = 0; pair < pairs; pair += 1) {
        await saveStyles['in place'](live.file('a'), wholeText(`pair ${pair}, first`));
        await sleep(5 + (195 * pair) / (pairs - 1));
        await saveStyles['in place'](live.file('a'), wholeText(`pair ${pair}, second`));
        await holds(live, 'a', wholeText(`pair ${pair}, second`));
      }
    },
    limitMs,
  );

  if (long)
    test('a watcher that keeps the second save of a pair to itself is found out (control)', async () => {
      const forgetful = (folders: readonly string[]) => {
        const watcher = openWatcher(folders);
        const emit = watcher.emit.bind(watcher) as (...event: unknown[]) => boolean;
        let told = false;
        Object.assign(watcher, {
          emit: (...event: unknown[]) => {
            if (event[0] === 'all' && told) return false;
            told ||= event[0] === 'all';
            return emit(...event);
          },
        });
        return watcher;
      };
      await using live = await liveFolder({
        agents: ['a'],
        local: { ...watcherAlone, openWatcher: forgetful },
      });
      // The first one may be met by the full look with which a watcher begins; one of the first two is announced.
      for (const text of ['one', 'two']) {
        await saveStyles['renamed over'](live.file('a'), wholeText(text));
        await sleep(1500);
      }
      await saveStyles['renamed over'](live.file('a'), wholeText('the one after'));
      expect(await becomesKnown(live, 'a', wholeText('the one after'))).toBe(false);
      expect(await live.texts('a')).toContain(wholeText('one'));
    });
});

describe.concurrent('a writer that pauses in the middle of a file', () => {
  /** Writes a long text in two halves; every version must be whole. */
  async function write(live: LiveFolder, agent: string, what: string, pauseMs: number): Promise<void> {
    const text = wholeText(`${what}\n${'all of it\n'.repeat(100)}`);
    await using file = await open(live.file(agent), 'w');
    await file.write(text.slice(0, text.length / 2));
    await sleep(pauseMs);
    await file.write(text.slice(text.length / 2));
    await holds(live, agent, text);
  }

  test(
    'of 20 to 1,000 ms makes no version from half a file where the environment is settled (live test 3, W03, W40)',
    async () => {
      const pauses = [20, 100, 300, 1000];
      const agents = pauses.map((pause) => `pause_${pause}`);
      await using live = await liveFolder({ agents, settle: 'settled', local: watcherAlone });
      for (let round = 0; round < (long ? 10 : 1); round += 1) {
        await Promise.all(pauses.map((pause) => write(live, `pause_${pause}`, `round ${round}`, pause)));
      }
      for (const agent of agents) expect((await live.texts(agent)).every(isWhole)).toBe(true);
    },
    limitMs,
  );

  if (long)
    test('longer than the quiet window makes one, which is seen (control)', async () => {
      await using live = await liveFolder({ agents: ['a'], settle: 'fast', local: watcherAlone });
      await write(live, 'a', 'torn', 1500);
      expect((await live.texts('a')).every(isWhole)).toBe(false);
    });
});

describe.concurrent('a watcher that fails', () => {
  test('because it was closed behind the daemon’s back leaves changes to the sweep (live test 5)', async () => {
    const watchers: FSWatcher[] = [];
    const openWatcherHere = (folders: readonly string[]) => {
      const watcher = openWatcher(folders);
      watchers.push(watcher);
      return watcher;
    };
    const local = { ...watcherAlone, openWatcher: openWatcherHere };
    await using live = await liveFolder({ agents: ['a'], local: { ...local, sweepMs: 200 } });
    await using deaf = await liveFolder({ agents: ['a'], local });
    for (const either of [live, deaf]) {
      await saveStyles['in place'](either.file('a'), wholeText('heard'));
      await holds(either, 'a', wholeText('heard'));
    }
    await Promise.all(watchers.map((watcher) => watcher.close()));
    await saveStyles['in place'](deaf.file('a'), wholeText('unheard'));
    for (const text of ['one', 'two', 'three']) {
      await saveStyles['in place'](live.file('a'), wholeText(text));
      await holds(live, 'a', wholeText(text));
    }
    // Control: without the sweep the change is not seen.
    expect(await becomesKnown(deaf, 'a', wholeText('unheard'))).toBe(false);
    await eventually(
      async () => live.log.map((line) => line.message),
      (lines) => lines.includes('the watcher works again'),
    );
    expect(watchers).toHaveLength(3);
  });

  test('for want of watches is told as degraded with its reason, at once, and as well when it has recovered', async () => {
    let broken = true;
    const openWatcherHere = (folders: readonly string[]) => {
      const watcher = openWatcher(folders);
      const error = Object.assign(new Error('System limit reached'), { code: 'ENOSPC' });
      if (broken) setImmediate(() => watcher.emit('error', error));
      return watcher;
    };
    await using live = await liveFolder({
      agents: ['a'],
      local: { ...watcherAlone, openWatcher: openWatcherHere },
    });
    const ask = createAsk(() => live.database.context());
    const status = async () => {
      const answer = await ask('{ package(agentKey: "a") { sourceStatus { state message } } }');
      return answer.data.package.sourceStatus as { state: string; message: string | null };
    };
    const degraded = await eventually(status, ({ state }) => state === 'degraded');
    expect(degraded.message).toContain('fs.inotify.max_user_watches');
    await saveStyles['in place'](live.file('a'), wholeText('found by the sweep'));
    await holds(live, 'a', wholeText('found by the sweep'));
    broken = false;
    expect(await eventually(status, ({ state }) => state === 'ok', 25_000)).toEqual({
      state: 'ok',
      message: null,
    });
  });
});

test(
  'a burst that blocks the process and overruns the kernel’s queue delays the save after it, and no more (live test 7, W09)',
  async () => {
    await using live = await liveFolder({ agents: ['a'], local: { ...watcherAlone, sweepMs: 1000 } });
    const noise = [openSync(live.file('noise-1'), 'w'), openSync(live.file('noise-2'), 'w')];
    const writes = long ? 40_000 : 20_000;
    for (let write = 0; write < writes; write += 1) writeSync(noise[write % 2] ?? 0, 'x');
    writeFileSync(live.file('a'), wholeText('after the burst'));
    noise.forEach(closeSync);
    await holds(live, 'a', wholeText('after the burst'));
  },
  limitMs,
);
