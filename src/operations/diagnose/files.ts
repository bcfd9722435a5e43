import { fine, firstChecks, trouble, warn, type Check } from '../../core/check.ts';
import { counted } from '../../core/count.ts';
import { SourceError } from '../../core/errors.ts';
import type { Finding } from '../../core/finding.ts';
import type { PackageLook } from '../../core/look.ts';
import type { PackageDefinition, Registry, RelativePath, SourceType } from '../../core/package.ts';
import { judgeLook } from '../../core/plan-refresh.ts';
import type { Source } from '../../source/source.ts';
import { faultAdvice, placeholderAdvice, warningAdvice, type Standing } from './file-advice.ts';
import type { Known } from './known.ts';

const area = 'files';

/** More than a person reads, and a bound on what a registry of many agents prints. */
const maxChecks = 500;

export interface FilePorts {
  readonly source: Pick<Source, 'look' | 'type'>;
  readonly maxFileBytes: number;
  /** Listed files whose bytes are not on this machine, as far as that can be told without reading them. */
  readonly findPlaceholders: (paths: readonly RelativePath[]) => readonly RelativePath[];
}

/**
 * Every listed file of every enabled agent, by the rules of a refresh: one check for what is not well, whichever agents
 * it touches, and one for each agent whose package would load. The sources of a disabled agent are never read (G-11).
 */
export async function checkFiles(
  registry: Registry,
  ports: FilePorts,
  known: Known | null,
): Promise<Check[]> {
  const agents = [...registry.agents.values()].filter((agent) => agent.enabled);
  if (agents.length === 0) return [fine({ area, name: 'no_agent', found: 'The registry enables no agent.' })];
  const checks = checkPlaceholders(agents, ports);
  for (const agent of agents) checks.push(...(await checkAgent(agent, ports)));
  const merged = mergeAgents(checks).map((check) => tellStanding(check, known, ports.source.type));
  return firstChecks(merged, maxChecks);
}

function checkPlaceholders(agents: readonly PackageDefinition[], { findPlaceholders }: FilePorts): Check[] {
  const paths = new Set(agents.flatMap((agent) => agent.files.map((file) => file.relativePath)));
  return findPlaceholders([...paths]).map((relativePath) => {
    const found = `${relativePath} is only a name on this machine; its bytes lie in the cloud.`;
    return warn({ area, name: 'placeholder', found, relativePath }, placeholderAdvice);
  });
}

async function checkAgent(agent: PackageDefinition, { source, maxFileBytes }: FilePorts): Promise<Check[]> {
  const { agentKey } = agent;
  let look: PackageLook;
  try {
    look = await source.look(agent.files, { withContent: true, maxFileBytes });
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    const finds = { area, name: 'unreadable', found: error.message, agentKeys: [agentKey] } as const;
    return [trouble(finds, faultAdvice('unreadable', 'unknown', source.type))];
  }
  if (look.root === 'trouble') return []; // Lost since the root was checked: the next run says so.
  const { faults, warnings, bundle } = judgeLook(agent, look, maxFileBytes);
  const hints = hintsOf(look);
  const explained = new Set<Finding>();
  const refusals = faults.map((fault) => {
    const about = fault.code === 'missing_required' ? (hints.get(fault.relativePath) ?? []) : [];
    for (const hint of about) explained.add(hint);
    return refusal(fault, about, { agentKey, source: source.type });
  });
  const notices = warnings
    .filter((warning) => !explained.has(warning))
    .map((found) => notice(found, agentKey));
  if (refusals.length > 0) return [...refusals, ...notices];
  const found = `${agentKey}: ${bundle.files.length} of ${counted(agent.files.length, 'listed file')} would load, ${counted(bundle.totalSizeBytes, 'byte')}.`;
  return [fine({ area, name: 'package', found, agentKeys: [agentKey] }), ...notices];
}

/** What looks like an absent file, by the path the registry lists. */
function hintsOf(
  look: Extract<PackageLook, { root: 'present' }>,
): ReadonlyMap<string | null, readonly Finding[]> {
  return new Map(
    look.files.flatMap((file) => (file.state === 'absent' ? [[file.relativePath, file.hints]] : [])),
  );
}

/** A fault in one check with what explains it: a missing file is mostly one by another spelling. */
function refusal(
  fault: Finding,
  hints: readonly Finding[],
  { agentKey, source }: { readonly agentKey: string; readonly source: SourceType },
): Check {
  const spelling = hints.find((hint) => hint.code.startsWith('name_differs_'));
  const code = spelling?.code ?? fault.code;
  const found = [placed(fault), ...hints.map((hint) => hint.message)].join(' ');
  const finds = { area, name: code, found, relativePath: fault.relativePath, agentKeys: [agentKey] } as const;
  return trouble(finds, faultAdvice(code, 'unknown', source));
}

function notice(warning: Finding, agentKey: string): Check {
  const { code, relativePath } = warning;
  const finds = { area, name: code, found: placed(warning), relativePath, agentKeys: [agentKey] } as const;
  return warn(finds, warningAdvice(code));
}

/** The sentence with the place where it does not say it itself. */
function placed({ message, relativePath, line }: Finding): string {
  const path = relativePath !== null && !message.includes(relativePath) ? `${relativePath}: ` : '';
  const at = line !== null && !message.toLowerCase().includes(`line ${line}`) ? ` (line ${line})` : '';
  return `${path}${message}${at}`;
}

/** A file that several agents list is told once, with all of them. */
function mergeAgents(checks: readonly Check[]): Check[] {
  const merged = new Map<string, Check>();
  for (const check of checks) {
    const key = JSON.stringify([check.state, check.name, check.relativePath, check.found]);
    const before = merged.get(key)?.agentKeys ?? [];
    merged.set(key, { ...check, agentKeys: [...before, ...check.agentKeys] });
  }
  return [...merged.values()];
}

/** A fault with what its agents have meanwhile, which is the same for all of them or left open. */
function tellStanding(check: Check, known: Known | null, source: SourceType): Check {
  if (check.state !== 'trouble' || known === null) return check;
  const standings = new Set(check.agentKeys.map((agentKey) => standingOf(agentKey, known)));
  const [standing = 'unknown', ...others] = standings;
  const { meaning } = faultAdvice(check.name, others.length === 0 ? standing : 'unknown', source);
  return { ...check, meaning };
}

function standingOf(agentKey: string, { packages }: Known): Standing {
  const rows = packages.flatMap(({ row }) => (row.agentKey === agentKey ? [row] : []));
  if (rows.some((row) => row.activeNumber !== null)) return 'active';
  return rows.every((row) => row.nextNumber === 1) ? 'no_version' : 'unknown';
}
