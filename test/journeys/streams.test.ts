import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { checkHistory } from '../support/history/checker.ts';
import { describeFault } from '../support/history/fault.ts';
import { monotonicMs } from '../support/history/line-file.ts';
import type { CameLine, Subscriber } from '../support/history/stream-record.ts';
import { eventually } from '../support/processes.ts';
import { StreamStage, type StreamHistory } from '../support/streams/stream-stage.ts';

/*
 * G13 under faults: whoever follows is told each change once and in order, whatever is killed, cut off or frozen meanwhile
 * (F1, F2, F4, F5, F17, F20, F21, R4). Real processes on a PostgreSQL of their own; the history checker's C8 judges.
 */

const long = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const rounds = long ? 6 : 1;
const agents = ['alpha', 'beta'] as const;

test(
  'every subscriber at every API is told each change once and in order while everything is killed (G13, C8)',
  async () => {
    await using stage = await StreamStage.open(agents);
    stage.follow('raw reader of all', 'first');
    stage.follow('raw reader of all at the second', 'second');
    stage.follow('graphql-sse', 'first', { transport: 'graphqlSse' });
    stage.follow('graphql-sse at the second', 'second', {
      transport: 'graphqlSse',
      filter: { agentKey: 'beta', environment: 'production' },
    });
    stage.follow('curl', 'first', {
      transport: 'curl',
      filter: { agentKey: 'alpha', environment: 'production' },
    });
    stage.follow('raw reader from now on', 'second', { begin: null });
    const mortal = () => stage.followApart('mortal reader', 'first');
    let process = await mortal();
    const load = stage.startLoad();
    for (let round = 0; round < rounds; round += 1) {
      await strikeOnce(stage, async () => {
        await process[Symbol.asyncDispose]();
        process = await mortal();
      });
    }
    await load.stop();
    const judged = await eventually(
      () => stage.judge(),
      ({ faults }) => faults.length === 0,
      30_000,
      500,
    ).catch(() => stage.judge());
    await process[Symbol.asyncDispose]();
    expect(judged.faults.slice(0, 20).map(describeFault)).toEqual([]);
    expect(stage.unexpectedEnds()).toEqual([]);
    expect(judged.streams).toHaveLength(7);
    expect(resets(judged)).toEqual([]);
    report(judged);
    expectControls(judged);
  },
  long ? 400_000 : 120_000,
);

/** One of each fault, with a moment between in which the world goes on. */
async function strikeOnce(stage: StreamStage, killSubscriber: () => Promise<void>): Promise<void> {
  const { first } = stage;
  const breath = () => sleep(long ? 300 + Math.random() * 1500 : 300);
  await breath();
  for (let turn = 0; turn < 3; turn += 1) {
    await terminate(stage, `application_name = 'agent-knowledge listener'`);
    await sleep(900);
  }
  await Promise.all([killSubscriber(), first.kill('daemon')]);
  await Promise.all([first.revive(), breath()]);
  stage.api.process.kill('SIGSTOP');
  await Promise.all([sleep(2000), first.kill('api').then(() => first.revive())]);
  stage.api.process.kill('SIGCONT');
  await breath();
  await terminate(stage, 'true');
  await breath();
  await first.kill('postmaster');
  await first.revive();
  await breath();
}

async function terminate({ first }: StreamStage, which: string): Promise<void> {
  await first.asSuperuser((client) =>
    client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where pid <> pg_backend_pid() and datname = current_database() and ${which}`,
    ),
  );
}

function resets({ lines }: StreamHistory): string[] {
  return lines.flatMap((line) => (line.line === 'cut' && line.why.includes('RESET') ? [line.why] : []));
}

/** What each was told and how late, by the clock of the database, which is this machine's. */
function report({ streams, state }: StreamHistory): void {
  const offset = Date.now() - monotonicMs();
  const lines = streams.map(({ name, segments }) => {
    const came = segments.flatMap(({ told }) =>
      told.filter((line): line is CameLine => line.line === 'came'),
    );
    const late = came.map(({ at, change }) => at + offset - Date.parse(change.at)).toSorted((a, b) => a - b);
    const [p50, p90] = [0.5, 0.9].map((q) => late[Math.floor(q * late.length)]?.toFixed(0));
    return `${name}: ${came.length} changes on ${segments.length} connections, late p50 ${p50} p90 ${p90} max ${late.at(-1)?.toFixed(0)} ms`;
  });
  process.stdout.write(`streams: ${state.events.length} events\n  ${lines.join('\n  ')}\n`);
}

/** The same history with one line of one subscriber lost, doubled or put before its time must not pass. */
function expectControls({ calls, state, streams }: StreamHistory): void {
  const checksOf = (change: (told: readonly CameLine[]) => CameLine[]) => {
    const changed = streams.map((subscriber, index) =>
      index === 0 ? flattened(subscriber, change) : subscriber,
    );
    return checkHistory(calls, state, { streams: changed }).map(({ check }) => check);
  };
  expect(checksOf((told) => [...told])).toEqual([]);
  const middle = (told: readonly CameLine[]) => Math.floor(told.length / 2);
  expect(checksOf((told) => told.toSpliced(middle(told), 1))).toContain('C8');
  expect(checksOf((told) => told.toSpliced(middle(told), 0, told[middle(told)]!))).toContain('C8');
  expect(checksOf((told) => told.map((line) => ({ ...line, at: line.at - 5000 })))).toContain('C8');
}

/** The subscriber as if all had come on one connection. */
function flattened(subscriber: Subscriber, change: (told: readonly CameLine[]) => CameLine[]): Subscriber {
  const told = subscriber.segments.flatMap((segment) =>
    segment.told.filter((line): line is CameLine => line.line === 'came'),
  );
  return { ...subscriber, segments: [{ process: 'first', after: 0, told: change(told) }] };
}
