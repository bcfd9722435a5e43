import { describe, expect, test } from 'vitest';
import { checkHistory } from '../support/history/checker.ts';
import { describeFault } from '../support/history/fault.ts';
import { MadeHistory } from '../support/history/made-history.ts';
import { cutAfter, followed, place, retold } from '../support/history/made-stream.ts';
import { renameActor, type Planted } from '../support/history/planted.ts';
import { plantedOutcomes } from '../support/history/planted-outcomes.ts';
import { plantedStreams } from '../support/history/planted-streams.ts';
import { plantedViews } from '../support/history/planted-views.ts';
import type { Subscriber } from '../support/history/stream-record.ts';

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

const sentences = ({ calls, state, ...options }: Planted) =>
  checkHistory(calls, state, options).map(describeFault);
const judge = (made: MadeHistory, lagMs = 0, streams: readonly Subscriber[] = []) =>
  sentences({ calls: made.calls, state: made.state(), lagMs, streams });

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

describe('a stream that is right', () => {
  const made = () => renameActor(goodHistory(), 'agent.knowledge_rollback', 'v4', 'second');

  test('passes in one piece, cut off at any line, and begun late', () => {
    const whole = followed(made());
    expect(judge(made(), 0, [whole])).toEqual([]);
    for (let count = 0; count <= 8; count += 1)
      expect(judge(made(), 0, [cutAfter(whole, count)])).toEqual([]);
    expect(judge(made(), 0, [followed(made(), 5)])).toEqual([]);
  });

  test('passes with signs of life, and with nothing of what happened after the subscriber had left', () => {
    const withPlaces = retold(followed(made()), (lines) =>
      lines.flatMap((line) => [line, place(line.change.sequence, line.at)]),
    );
    expect(judge(made(), 0, [withPlaces])).toEqual([]);
    const left = { ...retold(followed(made()), (lines) => lines.slice(0, 3)), left: true };
    expect(judge(made(), 0, [left])).toEqual([]);
    expect(judge(made(), 0, [{ ...left, left: false }])).not.toEqual([]);
  });
});

const faults = [...plantedOutcomes, ...plantedViews, ...plantedStreams];

describe('the checker finds', () => {
  test.each(faults)('%s', (_, expected, plant) => {
    expect(sentences(plant())).toContainEqual(expect.stringMatching(expected));
  });

  test('something for each of its checks in this table', () => {
    const checks = new Set(faults.map(([, expected]) => expected.source.slice(1, 3)));
    expect([...checks].toSorted()).toEqual(['C1', 'C2', 'C3', 'C4', 'C5', 'C6', 'C7', 'C8', 'C9']);
  });
});

test('a read may lag behind another process where the check says so, and not otherwise', () => {
  const made = new MadeHistory().refresh('one');
  const before = made.seen;
  made.refresh('two').read({ process: 'api2', result: { seen: before } });
  expect(judge(made, 1000)).toEqual([]);
  expect(judge(made)).toEqual([expect.stringMatching(/^C4, .*read call-3/)]);
});
