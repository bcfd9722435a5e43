import type { Finding } from './finding.ts';

/** What a receiver can be told of, without the word for a try. */
export const noticeTypes = [
  'knowledge.loaded',
  'knowledge.activated',
  'knowledge.held',
  'knowledge.refused',
  'knowledge.stale',
] as const;
export type NoticeType = (typeof noticeTypes)[number];

/** A fault as a receiver may see it: word and place, no sentence that could quote a file. */
export type NoticeFault = Pick<Finding, 'relativePath' | 'line'> & { readonly code: string };

/** What a notice says beside its type and time; null where it does not apply. Never content, an excerpt or a remark. */
export interface NoticeData {
  readonly agentKey: string | null;
  readonly environment: string | null;
  readonly knowledgeVersion: string | null;
  readonly checksum: string | null;
  readonly generation: number | null;
  /** The event's place in the audit log. */
  readonly sequence: number | null;
  /** The stable word of why. */
  readonly reason: string | null;
  readonly faults: readonly NoticeFault[];
  readonly holdCause: string | null;
  /** Who did it, as the audit log names it: a kind and a row's id, no name. */
  readonly actor: { readonly kind: string; readonly id: string } | null;
}

/** A body has fewer bytes, by either way of counting a kilobyte. */
export const maxNoticeBytes = 16_000;

/** More than a person reads in a message. */
const maxFaults = 50;

/** A notice that says nothing yet. */
export const noNoticeData: NoticeData = {
  agentKey: null,
  environment: null,
  knowledgeVersion: null,
  checksum: null,
  generation: null,
  sequence: null,
  reason: null,
  faults: [],
  holdCause: null,
  actor: null,
};

/**
 * The JSON that is signed and sent, below `maxNoticeBytes` however many faults there are: what does not fit is counted in
 * `moreFaults`. The same notice has the same body at every attempt.
 */
export function noticeBody(type: NoticeType | 'knowledge.test', at: Date, notice: NoticeData): string {
  const bodyWith = (faults: readonly NoticeFault[]) =>
    JSON.stringify({
      type,
      timestamp: at.toISOString(),
      data: { ...notice, faults, moreFaults: notice.faults.length - faults.length },
    });
  const told: NoticeFault[] = [];
  let room = maxNoticeBytes - bytesOf(bodyWith([])) - 1;
  for (const { code, relativePath, line } of notice.faults.slice(0, maxFaults)) {
    const fault = { code, relativePath, line };
    room -= bytesOf(JSON.stringify(fault)) + 1; // With its comma.
    if (room < 0) break;
    told.push(fault);
  }
  return bodyWith(told);
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length;
}
