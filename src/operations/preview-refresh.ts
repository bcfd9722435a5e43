import { SourceError } from '../core/errors.ts';
import type { Finding } from '../core/finding.ts';
import type { PackageLook } from '../core/look.ts';
import { versionName, type BundleFile, type PackageDefinition, type Sha256 } from '../core/package.ts';
import { judgeLook, planRefresh, type JudgedLook, type RefreshPlan } from '../core/plan-refresh.ts';
import { parseRegistry } from '../core/registry/registry.ts';
import type { Source } from '../source/source.ts';
import type { PackageName } from '../store/job-queue.ts';
import type { RefreshOutcome } from '../store/refreshes.ts';
import type { CallContext, Policy } from './context.ts';
import { planInputOfNothing, readPlanInput } from './read-plan-input.ts';
import { toResult } from './refresh-result.ts';

export interface PreviewInput {
  readonly name: PackageName;
  readonly policy: Policy;
  /** Null: there is no registry file. */
  readonly registryBytes: Uint8Array | null;
  readonly source: Pick<Source, 'look'>;
  /** Null: nothing is known of earlier versions. */
  readonly context: CallContext | null;
}

/** What a refresh would come to, in the words of its answer. */
export interface RefreshPreview {
  readonly outcome: RefreshOutcome;
  readonly reason: string | null;
  readonly message: string | null;
  readonly faults: readonly Finding[];
  readonly warnings: readonly Finding[];
  /** The number it would give out, or that of the version with the same content; null where it would fail. */
  readonly number: number | null;
  readonly checksum: Sha256 | null;
  readonly activates: boolean;
  /** What the bundle would hold; empty where there would be none. */
  readonly files: readonly Omit<BundleFile, 'content'>[];
}

/**
 * What a refresh of one package would do now, from one look with content at the source; changes nothing anywhere. The
 * same rules decide as in a refresh, without its quiet time, so a file that is being written may be seen half.
 */
export async function previewRefresh(input: PreviewInput): Promise<RefreshPreview> {
  const parsed = parseRegistry(input.registryBytes);
  if (!parsed.ok) return refused('REGISTRY_REJECTED', parsed.faults, parsed.warnings);
  const { agents, warnings } = parsed.registry;
  const definition = agents.get(input.name.agentKey);
  if (definition === undefined) return refused('FAILED', [unknownAgent(input.name)], warnings);
  const judged = judgeLook(definition, await lookOnce(input, definition), input.policy.maxFileBytes);
  const { known, policy } =
    input.context === null
      ? planInputOfNothing(input.policy, input.name.environment)
      : await readPlanInput(input.context, input.name);
  const plan = planRefresh({ definition, judged, known, policy, ticket: known.lastTicket + 1 });
  const preview = toPreview(plan, judged);
  return { ...preview, warnings: [...warnings, ...preview.warnings] };
}

/** The sources of a disabled agent are never read (G-11); a source that cannot answer is an unreadable one. */
async function lookOnce(input: PreviewInput, definition: PackageDefinition): Promise<PackageLook> {
  if (!definition.enabled) return { root: 'present', files: [], notices: [] };
  const { maxFileBytes } = input.policy;
  try {
    return await input.source.look(definition.files, { withContent: true, maxFileBytes });
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return { root: 'trouble', code: 'unreadable', message: error.message };
  }
}

function toPreview(plan: RefreshPlan, judged: JudgedLook): RefreshPreview {
  const { outcome, reason, message, faults, warnings } = toResult(plan);
  const answer = { outcome, reason, message, faults, warnings };
  if (plan.outcome !== 'LOADED' && plan.outcome !== 'UNCHANGED') return { ...answer, ...nothing };
  const loads = plan.outcome === 'LOADED';
  return {
    ...answer,
    message: loads ? loadMessage(plan) : message,
    number: loads ? plan.number : plan.matchingNumber,
    checksum: judged.bundle.checksum,
    activates: loads && plan.activates,
    files: judged.bundle.files.map(({ content: _content, ...file }) => file),
  };
}

function loadMessage(plan: Extract<RefreshPlan, { outcome: 'LOADED' }>): string {
  const name = versionName(plan.number);
  if (plan.activates) return `${name} would be stored and active.`;
  if (plan.hold !== null) return `${name} would be stored and the package held: ${plan.hold.reason}`;
  return `${name} would be stored and would wait to be activated.`;
}

const nothing = { number: null, checksum: null, activates: false, files: [] };

function refused(
  outcome: 'REGISTRY_REJECTED' | 'FAILED',
  faults: readonly Finding[],
  warnings: readonly Finding[],
): RefreshPreview {
  const [first] = faults;
  return {
    ...nothing,
    outcome,
    reason: first?.code ?? null,
    message: first?.message ?? null,
    faults,
    warnings,
  };
}

function unknownAgent({ agentKey }: PackageName): Finding {
  const message = `The registry does not list the agent ${JSON.stringify(agentKey.slice(0, 80))}.`;
  return { code: 'unknown_agent', relativePath: null, line: null, message };
}
