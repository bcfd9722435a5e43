/** What came of one attempt to send a notice. */
export type NoticeAnswer =
  | {
      readonly kind: 'answered';
      readonly status: number;
      /** What the receiver says of when to ask again. */
      readonly retryAfterSeconds: number | null;
    }
  /** Nobody answered; `why` names it without a secret, as the end of a sentence that begins with the host. */
  | { readonly kind: 'unreachable'; readonly why: string }
  /** This process ends, so it is not known whether the receiver has it. */
  | { readonly kind: 'interrupted' };

/** Where notices go: an edge, made by a composition root. */
export interface NoticeReceiver {
  /** Host and port, all of the address that may be shown. */
  readonly host: string;
  /** Signs and sends; answers within its own deadline, whatever the other side does. */
  readonly send: (
    notice: { readonly id: string; readonly body: string },
    signal: AbortSignal,
  ) => Promise<NoticeAnswer>;
}

/** What becomes of a notice after an attempt. */
export type NoticeFate =
  | { readonly next: 'delivered' }
  | { readonly next: 'again'; readonly afterSeconds: number; readonly error: string }
  | { readonly next: 'dead'; readonly error: string }
  /** The attempt does not count. */
  | { readonly next: 'back' };

const minutes = 60;
const hours = 3600;

/** Seconds between one attempt and the next: twelve attempts over some 34 hours. */
export const usualRetrySeconds: readonly number[] = [
  5,
  30,
  2 * minutes,
  10 * minutes,
  30 * minutes,
  hours,
  2 * hours,
  4 * hours,
  6 * hours,
  8 * hours,
  12 * hours,
];

/** However long a receiver asks us to wait, it is asked again within this. */
const maxRetryAfterSeconds = 12 * hours;

/**
 * Decides from what came of attempt number `attempt`, the first being 1: any 2xx delivers, 410 ends it at once, anything
 * else is tried again after the wait of `retrySeconds`, or the longer one that 429 and 503 may ask for, until there is none left.
 */
export function judgeAnswer(
  answer: NoticeAnswer,
  { attempt, host, retrySeconds }: { attempt: number; host: string; retrySeconds: readonly number[] },
): NoticeFate {
  if (answer.kind === 'interrupted') return { next: 'back' };
  if (answer.kind === 'answered' && isTaken(answer.status)) return { next: 'delivered' };
  const error = `${host} ${wordsOf(answer)}`;
  const wait = retrySeconds[attempt - 1];
  if (wait === undefined || (answer.kind === 'answered' && answer.status === 410))
    return { next: 'dead', error };
  const asked = answer.kind === 'answered' ? (askedWait(answer) ?? 0) : 0;
  return { next: 'again', afterSeconds: Math.max(wait, Math.min(asked, maxRetryAfterSeconds)), error };
}

/** Whether the receiver has it. */
export function isTaken(status: number): boolean {
  return status >= 200 && status < 300;
}

/** What came of an attempt, as the end of a sentence that begins with the host. */
export function wordsOf(answer: Exclude<NoticeAnswer, { kind: 'interrupted' }>): string {
  if (answer.kind === 'unreachable') return answer.why;
  const { status } = answer;
  if (status >= 300 && status < 400) return `answered ${status}; redirects are not followed.`;
  if (status === 410) return 'answered 410: it wants no more notices.';
  return `answered ${status}.`;
}

/** Seconds of a `Retry-After`, which is a number of them or a date; null where it is neither. */
export function parseRetryAfter(text: string | undefined, now: Date): number | null {
  if (text === undefined) return null;
  if (/^[0-9]{1,9}$/.test(text)) return Number(text);
  const seconds = (Date.parse(text) - now.getTime()) / 1000;
  return Number.isNaN(seconds) ? null : Math.max(0, Math.ceil(seconds));
}

function askedWait({ status, retryAfterSeconds }: Extract<NoticeAnswer, { kind: 'answered' }>) {
  return status === 429 || status === 503 ? retryAfterSeconds : null;
}
