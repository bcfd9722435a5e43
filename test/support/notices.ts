import type { NoticeType } from '../../src/core/notice.ts';
import { noticesOf } from '../../src/core/event-notices.ts';
import { openWebhookReceiver } from '../../src/webhook/webhook-receiver.ts';
import { readEventsAfter } from '../../src/store/notice-outbox.ts';
import { NoticeKeeper } from '../../daemon/notice-keeper.ts';
import { Pause } from '../../daemon/pause.ts';
import { JobQueue } from '../../src/store/job-queue.ts';
import type { TestDatabase } from './database.ts';
import { hurriedClock } from './fake-clock.ts';
import { recordingLogger, type LogLine } from './graphql.ts';
import { catcherSecret } from './notice-catcher.ts';

export interface StoredNotice {
  readonly id: string;
  readonly type: NoticeType;
  readonly agent_key: string | null;
  readonly event_sequence: string | null;
  readonly state: string;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly body: string;
}

/** Every notice, in the order of its making. */
export async function storedNotices(database: TestDatabase): Promise<StoredNotice[]> {
  return database.asSuperuser(async (client) => {
    const { rows } = await client.query<StoredNotice>('select * from agent_knowledge.notice order by id');
    return rows;
  });
}

/**
 * What the log holds after this event and is in no notice, or told twice, as `sequence type`: nothing, where nothing was
 * lost on the way from the log to the notices.
 */
export async function findUntold(database: TestDatabase, after: number): Promise<string[]> {
  const events = await database.database.read((queries) => readEventsAfter(queries, after, 10_000));
  const wanted = events.flatMap((event) => noticesOf(event).map(({ type }) => `${event.sequence} ${type}`));
  const made = (await storedNotices(database)).flatMap(({ event_sequence, type }) =>
    event_sequence === null ? [] : [`${event_sequence} ${type}`],
  );
  const lost = wanted.filter((name) => !made.includes(name));
  const invented = made.filter((name, index) => !wanted.includes(name) || made.indexOf(name) !== index);
  return [...lost, ...invented.map((name) => `${name}, too much`)];
}

/** The last event of the log. */
export async function headOfLog(database: TestDatabase): Promise<number> {
  return database.asSuperuser(async (client) => {
    const { rows } = await client.query('select sequence from agent_knowledge.event_head');
    return Number(rows[0].sequence);
  });
}

/** Lets the time pass that anything still waits for: attempts to come, and claims of processes that died. */
export async function letNoticesBecomeDue(database: TestDatabase): Promise<void> {
  await database.asSuperuser((client) =>
    client.query(`update agent_knowledge.notice set due_at = clock_timestamp() where state = 'WAITING'`),
  );
}

/** What a daemon does about notices, in a hurry. */
export async function startKeeper(
  database: TestDatabase,
  url: string,
  retrySeconds?: readonly number[],
): Promise<{ readonly log: readonly LogLine[] } & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const logger = recordingLogger();

  const queue = stack.use(await JobQueue.open(database.applicationUrl));
  const receiver = openWebhookReceiver({
    url,
    secret: new TextEncoder().encode(catcherSecret),
    userAgent: 'agent-knowledge/test',
    clock: () => new Date(),
  });
  stack.use(
    await NoticeKeeper.start({
      context: { ...database.context(), queue },
      receiver,
      pause: new Pause(hurriedClock(20)),
      logger,
      ...(retrySeconds ? { retrySeconds } : {}),
    }),
  );
  const opened = stack.move();
  return { log: logger.lines, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
