import { parsePageRequest, toPage, type Page, type PageRequest } from '../core/page.ts';
import { hasScope, requireScope } from '../core/permissions.ts';
import { countEvents, listEvents, type EventFilter, type StoredEvent } from '../store/knowledge-events.ts';
import type { CallContext } from './context.ts';
import { resolveEnvironment } from './names.ts';

export interface AuditRequest extends PageRequest {
  readonly agentKey?: string | null | undefined;
  readonly environment?: string | null | undefined;
  readonly action?: string | null | undefined;
}

/** Events are counted up to here; past it the count is not exact. */
export const maxExactCount = 10_000;

/**
 * A page of the audit log, newest first: every hashed field of every event, so that anybody can check the chain. Needs
 * `knowledge:read`; without `admin` only the events of packages that the caller may see. Throws `NOT_FOUND` for an
 * unknown environment.
 */
export async function readAuditLog(context: CallContext, request: AuditRequest): Promise<Page<StoredEvent>> {
  requireScope(context.caller, 'knowledge:read');
  const list = `events ${JSON.stringify([request.agentKey, request.environment, request.action])}`;
  const { size, before } = parsePageRequest(request, list);
  const rows = await context.database.read((queries) =>
    listEvents(queries, filterOf(context, request), { limit: size + 1, before }),
  );
  return toPage(rows, { size, before }, { name: list, positionOf: (row) => row.sequence });
}

export async function countAuditLog(
  context: CallContext,
  request: AuditRequest,
): Promise<{ count: number; isExact: boolean }> {
  requireScope(context.caller, 'knowledge:read');
  const counted = await context.database.read((queries) =>
    countEvents(queries, filterOf(context, request), maxExactCount + 1),
  );
  return { count: Math.min(counted, maxExactCount), isExact: counted <= maxExactCount };
}

function filterOf(context: CallContext, request: AuditRequest): EventFilter {
  const { caller } = context;
  return {
    agentKey: request.agentKey ?? undefined,
    environment:
      typeof request.environment === 'string'
        ? resolveEnvironment(context.policy, request.environment)
        : undefined,
    action: request.action ?? undefined,
    agents: caller.agents === null ? null : [...caller.agents],
    environments: caller.environments === null ? null : [...caller.environments],
    general: hasScope(caller, 'admin') && caller.agents === null && caller.environments === null,
  };
}
