import type { RootReason } from '../core/root-guard.ts';
import { appendEvent } from '../store/knowledge-events.ts';
import { lockSourceEvents } from '../store/source-events.ts';
import { reportRoot, type RootReport } from '../store/source-status.ts';
import type { Context } from './context.ts';
import type { Looker } from './refresh-knowledge.ts';

/** What the log is told of a source's root. */
export type RootNotice =
  | { readonly kind: 'lost'; readonly reason: RootReason }
  | {
      readonly kind: 'returned';
      /** Device and inode of the folder that is there now. */
      readonly identity: string | null;
      readonly identityChanged: boolean;
    }
  /** It is well at a daemon's start: news only where the log says that it was lost. */
  | { readonly kind: 'well'; readonly identity: string | null };

export interface RootTeller {
  readonly looker: Looker;
  /** The root's path: what the events are about. */
  readonly root: string;
  readonly host: string;
}

/** Notes for all watched packages of these environments that their root is not well (F50). */
export async function noteRoot(
  context: Context,
  environments: readonly string[],
  report: RootReport,
): Promise<void> {
  await context.database.transaction((queries) => reportRoot(queries, environments, report));
}

/**
 * Writes what became of a root to the audit log, once: not where the log's last word on it is the same already, be it
 * from before a restart or from another daemon on the folder. True when it was news.
 */
export async function auditRoot(context: Context, teller: RootTeller, notice: RootNotice): Promise<boolean> {
  return context.database.transaction(async (queries) => {
    const last = await lockSourceEvents(queries, teller.root);
    const lost = last?.action === 'agent.source_lost';
    const told =
      notice.kind === 'lost'
        ? lost
        : !lost && (notice.kind === 'well' || last?.details['identity'] === notice.identity);
    if (told) return false;
    const { host, looker, root } = teller;
    await appendEvent(queries, {
      actorId: looker.actorId,
      action: notice.kind === 'lost' ? 'agent.source_lost' : 'agent.source_returned',
      subject: root,
      details:
        notice.kind === 'lost'
          ? { host, reason: notice.reason }
          : {
              host,
              identity: notice.identity,
              identityChanged: notice.kind === 'returned' && notice.identityChanged,
            },
    });
    return true;
  });
}
