import type { Logger } from '../src/core/logger.ts';
import type { RegistryInForce } from '../src/operations/accept-registry.ts';

/** Faults and warnings of a registry that the log names; `registry check` lists them all (T44). */
const toldAtOnce = 5;

/** Tells what has changed about the registry between two looks at its file, each trouble and its end once. */
export function tellRegistry(
  logger: Logger,
  {
    path,
    before,
    now,
  }: { readonly path: string; readonly before: RegistryInForce | null; readonly now: RegistryInForce },
): void {
  const wasRefused = (before?.faults.length ?? 0) > 0;
  const isRefused = now.faults.length > 0;
  if (now.faults[0]?.message !== before?.faults[0]?.message) tellFaults(logger, path, now);
  // At the level of the trouble it ends, so that whoever saw the one sees the other.
  if (wasRefused && !isRefused && now.disputedBy.length === 0) logger.error('the registry is accepted again');
  if (before === null || now.changed) tellWarnings(logger, now);
  tellDispute(logger, path, [before?.disputedBy ?? [], now.disputedBy]);
}

/** What a person who has just saved the registry wants to read. */
export function describeRegistry({ registry }: RegistryInForce): string {
  const agents = [...(registry?.agents.values() ?? [])];
  const enabled = agents.filter((agent) => agent.enabled).length;
  return `a changed registry is in force: ${agents.length} agents, ${enabled} enabled`;
}

function tellFaults(logger: Logger, path: string, { registry, faults }: RegistryInForce): void {
  if (faults.length === 0) return;
  for (const fault of faults.slice(0, toldAtOnce)) {
    logger.error(`registry refused: ${fault.message}`, { code: fault.code, path });
  }
  const more = faults.length > toldAtOnce ? `${faults.length - toldAtOnce} more faults; ` : '';
  logger.error(
    `${more}${path}: ${registry ? 'the last good registry stays in force' : 'there is no registry in force'}`,
  );
}

function tellWarnings(logger: Logger, { registry }: RegistryInForce): void {
  for (const warning of registry?.warnings.slice(0, toldAtOnce) ?? []) {
    logger.warn(`registry: ${warning.message}`, { code: warning.code });
  }
}

/** The alarm of two daemons that read different registries, and its end. */
function tellDispute(
  logger: Logger,
  path: string,
  [before, now]: readonly [RegistryInForce['disputedBy'], RegistryInForce['disputedBy']],
): void {
  if (before.length > 0 === now.length > 0) return;
  if (now.length === 0) return logger.error('all live daemons read the same registry again');
  const others = now.map((daemon) => `process ${daemon.processId} on ${daemon.host}`).join(', ');
  logger.error(
    `another live daemon (${others}) reads another registry than this one; neither takes effect, the registry in force stays. Give both the same file`,
    { path },
  );
}
