import type { EventAction } from './events.ts';
import { noNoticeData, type NoticeData, type NoticeFault, type NoticeType } from './notice.ts';

/** What a notice is made of. */
export interface LoggedEvent {
  readonly sequence: number;
  /** `<kind>:<row id>`. */
  readonly actorRef: string;
  readonly action: EventAction;
  readonly agentKey: string | null;
  readonly environment: string | null;
  /** JSON, as stored. */
  readonly details: string;
}

/** A notice before it has an id and a time. */
export interface NoticeDraft {
  readonly type: NoticeType;
  readonly data: NoticeData;
}

/** The details that some event has and that a notice repeats; whatever else they hold is not looked at. */
interface Details {
  readonly version?: string;
  readonly to?: string;
  readonly checksum?: string;
  readonly generation?: number;
  readonly activated?: boolean;
  readonly by?: string;
  readonly reason?: string | null;
  readonly findings?: readonly { code: string; path: string | null; line: number | null }[];
}

/**
 * What an event is told as: every version as `loaded`, every move of a pointer as `activated`, so that a version that is
 * active at once is told twice; failures and a refused registry as `refused`. Most other events are told to nobody.
 */
export function noticesOf(event: LoggedEvent): NoticeDraft[] {
  const details = JSON.parse(event.details) as Details;
  const about = { ...noNoticeData, ...placeOf(event) };
  switch (event.action) {
    case 'agent.knowledge_loaded': {
      const { version = null, checksum = null, generation = null } = details;
      const data = { ...about, knowledgeVersion: version, checksum, generation };
      const loaded = { type: 'knowledge.loaded', data } as const;
      return details.activated === true ? [loaded, { type: 'knowledge.activated', data }] : [loaded];
    }
    case 'agent.knowledge_rollback': {
      const { to = null, generation = null } = details;
      return [{ type: 'knowledge.activated', data: { ...about, knowledgeVersion: to, generation } }];
    }
    case 'agent.knowledge_held':
      return [{ type: 'knowledge.held', data: { ...about, holdCause: details.by ?? null } }];
    case 'agent.knowledge_failed':
    case 'agent.knowledge_validation_failed':
    case 'agent.registry_rejected':
      return [
        {
          type: 'knowledge.refused',
          data: { ...about, reason: details.reason ?? null, faults: faultsOf(details) },
        },
      ];
    default:
      return [];
  }
}

function placeOf({ agentKey, environment, sequence, actorRef }: LoggedEvent) {
  const [kind = '', id = ''] = actorRef.split(':');
  return { agentKey, environment, sequence, actor: { kind, id } };
}

function faultsOf({ findings = [] }: Details): NoticeFault[] {
  return findings.map(({ code, path, line }) => ({ code, relativePath: path, line }));
}
