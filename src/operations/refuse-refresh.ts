import { findingFacts } from '../core/events.ts';
import { faultsMessage, type Finding } from '../core/finding.ts';
import { appendEvent } from '../store/knowledge-events.ts';
import { finishAttempts, type AttemptResult, type AttemptRow } from '../store/refreshes.ts';
import type { Context } from './context.ts';

/**
 * Answers requests that no look can serve, because the registry is refused or does not list the agent, or the root is
 * missing: nothing but the answer and its audit changes, the active version stays (K-012, K-080, F50).
 */
export async function refuseRefresh(
  context: Context,
  attempts: readonly AttemptRow[],
  refusal: {
    readonly outcome: 'REGISTRY_REJECTED' | 'FAILED';
    readonly faults: readonly [Finding, ...Finding[]];
    readonly warnings?: readonly Finding[];
  },
): Promise<void> {
  const [reason] = refusal.faults;
  const result: AttemptResult = {
    outcome: refusal.outcome,
    reason: reason.code,
    message: faultsMessage(refusal.faults, refusal.warnings),
    faults: refusal.faults,
    warnings: refusal.warnings ?? [],
    matchingNumber: null,
    loadedNumber: null,
  };
  await context.database.transaction(async (queries) => {
    await finishAttempts(
      queries,
      attempts.map((attempt) => attempt.id),
      result,
    );
    const details = { reason: reason.code, findings: findingFacts(refusal.faults), registryChecksum: null };
    const asked = new Map(attempts.map((attempt) => [attempt.actorId, attempt]));
    for (const [actorId, { agentKey, environment }] of asked) {
      await appendEvent(queries, {
        actorId,
        action: 'agent.knowledge_failed',
        agentKey,
        environment,
        details,
      });
    }
  });
}
