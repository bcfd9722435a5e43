import {
  judgeAnswer,
  usualRetrySeconds,
  type NoticeFate,
  type NoticeReceiver,
} from '../core/notice-delivery.ts';
import { reach } from '../core/failpoint.ts';
import type { NoticeType } from '../core/notice.ts';
import type { Queries } from '../store/database.ts';
import {
  buryNotice,
  claimNotice,
  markDelivered,
  postponeNotice,
  putBackNotice,
  type ClaimedNotice,
} from '../store/notices.ts';
import type { Context } from './context.ts';

export interface Delivery {
  readonly id: string;
  readonly receiver: NoticeReceiver;
  /** Ends an attempt under way: this process stops. */
  readonly signal: AbortSignal;
  /** How long to wait after each attempt that fails; as many attempts as there are waits, and one. */
  readonly retrySeconds?: readonly number[];
}

/** What came of an attempt at a notice. */
export interface DeliveryResult {
  readonly type: NoticeType;
  readonly attempt: number;
  readonly fate: NoticeFate;
}

/**
 * Sends one notice if its time has come and nobody else has it, and notes what came of it; null where there was nothing
 * to do. No transaction stands around the sending, so a process that dies in between leaves a claim that lapses: the
 * notice is sent again under the same id (at least once).
 */
export async function deliverNotice(context: Context, delivery: Delivery): Promise<DeliveryResult | null> {
  const { id, receiver, signal, retrySeconds = usualRetrySeconds } = delivery;
  if (signal.aborted) return null;
  const claimed = await context.database.read((queries) => claimNotice(queries, id, receiver.host));
  if (claimed === null) return null;
  reach('after notice claim');
  const answer = await receiver.send(claimed, signal);
  reach('after notice sent');
  const { type, attempt } = claimed;
  const fate = judgeAnswer(answer, { attempt, host: receiver.host, retrySeconds });
  await context.database.read((queries) => carryOut(queries, claimed, fate));
  return { type, attempt, fate };
}

async function carryOut(queries: Queries, claimed: ClaimedNotice, fate: NoticeFate): Promise<void> {
  switch (fate.next) {
    case 'delivered':
      return markDelivered(queries, claimed);
    case 'again':
      return postponeNotice(queries, claimed, fate);
    case 'dead':
      return buryNotice(queries, claimed, fate.error);
    case 'back':
      return putBackNotice(queries, claimed);
    default:
      return fate satisfies never;
  }
}
