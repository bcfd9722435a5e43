import { afterEach, expect, test } from 'vitest';
import { Supervisor, type Part } from '../../src/main/supervisor.ts';
import { eventually } from '../support/processes.ts';

/** A part whose end the test decides. */
interface TestPart extends Part {
  readonly name: string;
  end(words: string): void;
  closed: boolean;
}

function makePart(name: string): TestPart {
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();
  const part: TestPart = {
    name,
    ended,
    end,
    closed: false,
    [Symbol.asyncDispose]: async () => {
      part.closed = true;
      end('closed');
    },
  };
  return part;
}

let open: Supervisor<TestPart>[] = [];
afterEach(async () => {
  for (const supervisor of open) await supervisor[Symbol.asyncDispose]();
  open = [];
});

/** Looks after parts that come up as `outcomes` say: a part, or the reason why it fails. No pause takes any time. */
function supervise(outcomes: (TestPart | string)[], maxFailures: number | null = null) {
  const first = makePart('first');
  const lines: string[] = [];
  const pauses: number[] = [];
  const supervisor = new Supervisor<TestPart>(first, {
    name: 'The part',
    again: async () => {
      const outcome = outcomes.shift();
      if (outcome === undefined) return new Promise<never>(() => undefined); // The test is over by then.
      if (typeof outcome === 'string') throw new Error(outcome);
      return outcome;
    },
    tell: (line) => lines.push(line),
    maxFailures,
    pause: async (ms) => void pauses.push(ms),
  });
  open.push(supervisor);
  const told = (count: number) =>
    eventually(
      async () => lines.length,
      (length) => length >= count,
    );
  return { first, supervisor, lines, pauses, told };
}

test('what ends by itself is started again until it comes back, with one line for its end, its reason and its return', async () => {
  const second = makePart('second');
  const failures = [
    'the disk is full (12)',
    'the disk is full (13)',
    'the port is taken',
    'the disk is full (14)',
  ];
  const { first, supervisor, lines, pauses, told } = supervise([...failures, second]);
  first.end('It ended.');
  await told(4);
  await supervisor.up;
  expect(lines).toEqual([
    'It ended. It is started again.',
    'The part does not come back yet: the disk is full (12)',
    'The part does not come back yet: the port is taken',
    'The part is back.',
  ]);
  expect(pauses).toEqual([500, 1000, 2000, 4000, 8000]);
  await supervisor[Symbol.asyncDispose]();
  expect(second.closed).toBe(true);
});

test('one that ends right after it came back waits longer each time', async () => {
  const [second, third] = [makePart('second'), makePart('third')];
  const { first, pauses, told } = supervise([second, third]);
  first.end('It ended.');
  await told(2);
  second.end('It ended.');
  await told(4);
  expect(pauses).toEqual([500, 1000]);
});

test('what is stopped on purpose is not started again', async () => {
  const { first, supervisor, lines, pauses } = supervise([makePart('second')]);
  await supervisor[Symbol.asyncDispose]();
  expect(first.closed).toBe(true);
  expect([lines, pauses]).toEqual([[], []]);
});

test('what is let go runs on, looked after by nobody', async () => {
  const { first, supervisor, lines } = supervise([makePart('second')]);
  await supervisor.letGo();
  await supervisor[Symbol.asyncDispose]();
  expect(first.closed).toBe(false);
  first.end('It ended.');
  await first.ended;
  expect(lines).toEqual([]);
});

test('one that fails too often in a row is given up, in words; one success in between counts anew', async () => {
  const second = makePart('second');
  const { first, supervisor, told } = supervise(['no', 'no', second, 'no', 'no', 'never'], 3);
  first.end('It ended.');
  await told(3);
  second.end('It ended.');
  expect(await supervisor.gaveUp).toBe('The part did not come back in 3 attempts: never');
});
