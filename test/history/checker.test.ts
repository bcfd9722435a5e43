import { describe, expect, test } from 'vitest';
import { checkHistory } from '../support/history/checker.ts';
import { describeFault } from '../support/history/fault.ts';
import type { FinalState } from '../support/history/final-state.ts';
import { MadeHistory } from '../support/history/made-history.ts';
import { renameActor } from '../support/history/planted.ts';
import { plantedOutcomes } from '../support/history/planted-outcomes.ts';
import { plantedViews } from '../support/history/planted-views.ts';
import type { Call } from '../support/history/record.ts';

/* The checker of `reliability.md` 3.5 held against histories made by hand: right ones pass, and each fault is named. */

/** v1, v2, v3, back to v1, a held v4, released; reads all along. */
function goodHistory(): MadeHistory {
  return new MadeHistory()
    .refresh('one')
    .read()
    .refresh('two')
    .refresh('three')
    .read()
    .activate(1)
    .read()
    .hold()
    .refresh('four')
    .read()
    .release()
    .activate(4, { client: 'second', arguments: { target: 4, key: 'k' } })
    .read();
}

const sentences = (calls: readonly Call[], state: FinalState, lagMs = 0) =>
  checkHistory(calls, state, { lagMs }).map(describeFault);
const judge = (made: MadeHistory, lagMs = 0) => sentences(made.calls, made.state(), lagMs);

describe('a history that is right', () => {
  test('passes as it is', () => {
    const made = goodHistory();
    // The second client's event bears its name.
    expect(judge(renameActor(made, 'agent.knowledge_rollback', 'v4', 'second'))).toEqual([]);
  });

  test('passes with a lost answer whose effect is there, and with one whose effect is not', () => {
    const made = new MadeHistory().refresh('one').refresh('two');
    made.activate(1, { end: 'unknown', endedAt: made.now + 50, result: {} });
    made.call({ arguments: { target: 2 }, end: 'unknown', endedAt: Infinity });
    made.read();
    expect(judge(made)).toEqual([]);
  });

  test('passes with a repeated question under one key, answered twice for one effect', () => {
    const made = new MadeHistory().refresh('one').refresh('two');
    made.activate(1, { arguments: { target: 1, key: 'k' }, end: 'unknown', result: {} });
    made.call({
      arguments: { target: 1, key: 'k' },
      result: { seen: made.seen },
      startedAt: made.now + 20,
      endedAt: made.now + 30,
    });
    expect(judge(made)).toEqual([]);
  });

  test('passes with a loser of a race who is told what was active meanwhile', () => {
    const made = new MadeHistory().refresh('one').refresh('two').activate(1);
    const during = { startedAt: made.now - 20, endedAt: made.now + 20, end: 'fail' as const };
    made.call({ ...during, client: 'a', arguments: { target: 1 }, result: { current: 1 } });
    made.call({ ...during, client: 'b', arguments: { target: 1 }, result: { current: 2 } });
    expect(judge(made)).toEqual([]);
  });
});

const faults = [...plantedOutcomes, ...plantedViews];

describe('the checker finds', () => {
  test.each(faults)('%s', (_, expected, plant) => {
    const { calls, state, lagMs } = plant();
    expect(sentences(calls, state, lagMs)).toContainEqual(expect.stringMatching(expected));
  });

  test('something for each of its checks in this table', () => {
    const checks = new Set(faults.map(([, expected]) => expected.source.slice(1, 3)));
    expect([...checks].toSorted()).toEqual(['C1', 'C2', 'C3', 'C4', 'C5', 'C6', 'C7', 'C9']);
  });
});

test('a read may lag behind another process where the check says so, and not otherwise', () => {
  const made = new MadeHistory().refresh('one');
  const before = made.seen;
  made.refresh('two').read({ process: 'api2', result: { seen: before } });
  expect(judge(made, 1000)).toEqual([]);
  expect(judge(made)).toEqual([expect.stringMatching(/^C4, .*read call-3/)]);
});
