import { KnowledgeError } from '../core/errors.ts';
import { isTaken, wordsOf, type NoticeReceiver } from '../core/notice-delivery.ts';
import { noNoticeData, noticeBody } from '../core/notice.ts';
import { requireScope } from '../core/permissions.ts';
import { quote } from '../core/quote.ts';
import { findNoticeState, listNotices, type NoticeRow } from '../store/notice-list.ts';
import { reviveNotices, type NoticeChoice } from '../store/notices.ts';
import type { CallContext } from './context.ts';

/** Notices newest first, without what they say. Needs `admin`. */
export async function readNotices(
  context: CallContext,
  filter: { readonly onlyDead: boolean; readonly limit: number },
): Promise<NoticeRow[]> {
  requireScope(context.caller, 'admin');
  const state = filter.onlyDead ? 'DEAD' : null;
  return context.database.read((queries) => listNotices(queries, { state, limit: filter.limit }));
}

/**
 * Has one notice that was not delivered, or every dead one, sent again from its first attempt on; answers their ids. Needs
 * `admin`; throws `NOT_FOUND`, and `CONFLICT` where it is delivered already.
 */
export async function retryNotices(context: CallContext, choice: NoticeChoice): Promise<readonly string[]> {
  requireScope(context.caller, 'admin');
  return context.database.transaction(async (queries) => {
    const revived = await reviveNotices(queries, choice);
    if (revived.length > 0 || !('id' in choice)) return revived;
    const state = await findNoticeState(queries, choice.id);
    if (state === null) throw new KnowledgeError('NOT_FOUND', `No notice ${quote(choice.id, 60)}.`);
    throw new KnowledgeError('CONFLICT', `The notice ${choice.id} is delivered already.`);
  });
}

/** What a receiver made of a try. */
export interface TestedReceiver {
  readonly host: string;
  /** Null where nobody answered. */
  readonly status: number | null;
  readonly isDelivered: boolean;
  /** The end of a sentence that begins with the host. */
  readonly words: string;
}

/** Sends one signed notice of type `knowledge.test` now and waits for the answer; nothing is stored and nothing tried again. */
export async function testReceiver(
  receiver: NoticeReceiver,
  input: { readonly id: string; readonly at: Date },
): Promise<TestedReceiver> {
  const body = noticeBody('knowledge.test', input.at, noNoticeData);
  const answer = await receiver.send({ id: input.id, body }, new AbortController().signal);
  if (answer.kind === 'interrupted') throw new TypeError('Nobody interrupts a try.');
  const status = answer.kind === 'answered' ? answer.status : null;
  return {
    host: receiver.host,
    status,
    isDelivered: status !== null && isTaken(status),
    words: wordsOf(answer),
  };
}
