import { v7 as uuidv7 } from 'uuid';
import { noticesOf, type LoggedEvent, type NoticeDraft } from '../core/event-notices.ts';
import { reach } from '../core/failpoint.ts';
import { noNoticeData, noticeBody } from '../core/notice.ts';
import { parseVersionName, versionName } from '../core/package.ts';
import type { Queries } from '../store/database.ts';
import {
  beginNoticeCursor,
  forgetStaleTold,
  hasUntoldEvents,
  listStaleNews,
  lockNoticeCursor,
  moveNoticeCursor,
  noteStaleTold,
  readEventsAfter,
  type StaleNews,
} from '../store/notice-outbox.ts';
import { forgetDeliveredNotices, insertNotices, listDueNotices, type NewNotice } from '../store/notices.ts';
import { readVersions } from '../store/package-versions.ts';
import { readSourceStatus, type SourceStatusRow } from '../store/source-status.ts';
import { staleAfterMs, type Context } from './context.ts';

/** Events or packages of one transaction, and due notices of one call, at most. */
const batch = 100;

/** Transactions of one call: what a long log holds more is told by the next one. */
const maxRounds = 10;

/** Days for which one can look up what was delivered. */
const keptDays = 30;

/** Has everything told that happens from now on, where a webhook is set for the first time; else nothing is changed. */
export async function beginNotices({ database }: Context): Promise<void> {
  await database.transaction(beginNoticeCursor);
}

/**
 * Makes notices of what the audit log holds since it was last asked, and of packages whose source has gone stale; has every
 * notice sent whose time has come, also those whose job got lost with a queue or a daemon. Only called where a webhook is
 * set. Any number of daemons may call it at any time: the lock of the cursor lets one at a time make notices, and what is
 * made and that it is made are one transaction.
 */
export async function queueNotices(context: Context): Promise<void> {
  for (let round = 0; round < maxRounds && (await context.database.read(hasUntoldEvents)); round += 1)
    await tellEvents(context);
  await tellStale(context);
  const due = await context.database.read(async (queries) => {
    await forgetDeliveredNotices(queries, keptDays);
    return listDueNotices(queries, batch);
  });
  await context.queue.requestNotices(due);
}

async function tellEvents({ database }: Context): Promise<void> {
  await database.transaction(async (queries) => {
    const events = await readEventsAfter(queries, await lockNoticeCursor(queries), batch);
    const last = events.at(-1);
    if (last === undefined) return;
    const drafts = events.flatMap((event) => noticesOf(event).map((draft) => ({ event, draft })));
    await insertNotices(queries, await toRows(queries, drafts));
    reach('before notice cursor');
    await moveNoticeCursor(queries, last.sequence);
  });
}

/** What an activation does not say itself, the checksum of its version, is looked up for all of them at once. */
async function toRows(
  queries: Queries,
  drafts: readonly { readonly event: LoggedEvent & { readonly at: Date }; readonly draft: NoticeDraft }[],
): Promise<NewNotice[]> {
  const versions = await readVersions(
    queries,
    drafts.flatMap(({ draft }) => versionOf(draft) ?? []),
    { staleAfterMs: 0 },
  );
  return drafts.map(({ event, draft }) => {
    const named = versionOf(draft);
    const version = versions.find(
      (candidate) =>
        candidate.agentKey === named?.agentKey &&
        candidate.environment === named.environment &&
        candidate.number === named.number,
    );
    const data = { ...draft.data, checksum: draft.data.checksum ?? version?.checksum ?? null };
    return toRow({ ...draft, data }, event.at, event.sequence);
  });
}

function versionOf({ data: { agentKey, environment, knowledgeVersion, checksum } }: NoticeDraft) {
  if (agentKey === null || environment === null || knowledgeVersion === null || checksum !== null)
    return null;
  const number = parseVersionName(knowledgeVersion);
  return number === null ? null : { agentKey, environment, number };
}

/**
 * Tells once of each watched package that its source is stale, and again only after it was well in between, whichever
 * daemon saw the one and the other, and however long there was none.
 */
async function tellStale(context: Context): Promise<void> {
  const asked = { staleAfterMs: staleAfterMs(context.policy), limit: batch };
  const seen = await context.database.read((queries) => listStaleNews(queries, asked));
  if (seen.length === 0) return;
  await context.database.transaction(async (queries) => {
    await lockNoticeCursor(queries);
    const news = await listStaleNews(queries, asked); // Another daemon may have told it while this one waited.
    const stale = news.filter((name) => name.stale);
    const statuses = await readSourceStatus(queries, stale, asked.staleAfterMs);
    await forgetStaleTold(
      queries,
      news.filter((name) => !name.stale),
    );
    await noteStaleTold(queries, stale);
    const rows = stale.map((name) =>
      staleNotice(
        name,
        statuses.find((status) => isAbout(name, status)),
        context.clock(),
      ),
    );
    await insertNotices(queries, rows);
  });
}

function staleNotice(name: StaleNews, status: SourceStatusRow | undefined, at: Date): NewNotice {
  const { agentKey, environment, activeNumber, generation } = name;
  const data = {
    ...noNoticeData,
    agentKey,
    environment,
    knowledgeVersion: activeNumber === null ? null : versionName(activeNumber),
    generation,
    reason: status?.reason ?? staleReasonOf(status?.state),
    faults: status?.faults ?? [],
  };
  return toRow({ type: 'knowledge.stale', data }, at, null);
}

/** A source that was well when last looked at is stale because that is too long ago. */
function staleReasonOf(state = 'unknown'): string {
  return state === 'ok' || state === 'degraded' || state === 'unknown' ? 'not_looked_at' : state;
}

function toRow({ type, data }: NoticeDraft, at: Date, eventSequence: number | null): NewNotice {
  const { agentKey, environment } = data;
  const body = noticeBody(type, at, data);
  return { id: `msg_${uuidv7()}`, type, agentKey, environment, eventSequence, body };
}

function isAbout(name: StaleNews, status: SourceStatusRow): boolean {
  return name.agentKey === status.agentKey && name.environment === status.environment;
}
