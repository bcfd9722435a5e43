import { firstChecks, fine, trouble, warn, type Advice, type Check } from '../../core/check.ts';
import type { Finding } from '../../core/finding.ts';
import { parseRegistry, type RegistryParse } from '../../core/registry/registry.ts';
import type { Known } from './known.ts';

const area = 'registry';

/** Faults of one file that are told one by one. */
const maxFaults = 50;

/** Whether the registry's file is valid, whether it is the one in force, and whether all daemons read the same one. */
export function checkRegistry(path: string, bytes: Uint8Array | null, known: Known | null): Check[] {
  const parsed = parseRegistry(bytes);
  return [
    ...checkFile(path, parsed),
    ...(known === null ? [] : [...checkInForce(parsed, known), ...checkAgreement(known)]),
  ];
}

function checkFile(path: string, parsed: RegistryParse): Check[] {
  const warnings = parsed.ok ? parsed.registry.warnings : parsed.warnings;
  const told = parsed.ok
    ? [fine({ area, name: 'valid', found: describe(path, parsed) })]
    : firstChecks(parsed.faults.map(refused), maxFaults);
  return [...told, ...firstChecks(warnings.map(noticed), maxFaults)];
}

function describe(path: string, { registry }: Extract<RegistryParse, { ok: true }>): string {
  const agents = [...registry.agents.values()];
  const enabled = agents.filter((agent) => agent.enabled).length;
  return `${path} is valid: version ${registry.registryVersion}, ${agents.length} agents, ${enabled} of them enabled.`;
}

function refused(fault: Finding): Check {
  return trouble(finds(fault), {
    meaning: 'The registry is refused whole; the last good one stays in force.',
    fix: 'Correct it at the place named; "npx agent-knowledge registry check" looks again.',
    who: 'operator',
  });
}

function noticed(warning: Finding): Check {
  return warn(finds(warning), {
    meaning: 'The registry is accepted all the same.',
    fix: 'Correct it at the place named if it was meant otherwise.',
    who: 'operator',
  });
}

function finds({ code, line, message, relativePath }: Finding) {
  return {
    area,
    name: code,
    found: line === null ? message : `Line ${line}: ${message}`,
    relativePath,
  } as const;
}

function checkInForce(parsed: RegistryParse, { registryState, daemons }: Known): Check[] {
  const { checksum, rejectedChecksum, faults } = registryState;
  if (rejectedChecksum !== null && parsed.ok) return [refusedSince(rejectedChecksum, faults)];
  if (!parsed.ok) return [];
  if (checksum === parsed.registry.checksum)
    return [fine({ area, name: 'in_force', found: 'It is the registry in force.' })];
  const found =
    checksum === null
      ? 'No registry has ever been in force in this database.'
      : `The file is not the registry in force, which has the checksum ${checksum.slice(0, 12)}….`;
  return [warn({ area, name: 'not_in_force', found }, daemons.length === 0 ? nobodyReads : aDaemonReads)];
}

const nobodyReads: Advice = {
  meaning: 'Packages are made by the registry in force until a daemon or a refresh reads the file.',
  fix: 'Start the daemon, or run "npx agent-knowledge refresh --all".',
  who: 'operator',
};

const aDaemonReads: Advice = {
  meaning: 'A daemon takes a new file up within seconds; if this stays, it reads another file than this one.',
  fix: 'Run this again; then compare AGENT_KNOWLEDGE_REGISTRY_PATH here and where the daemon runs.',
  who: 'operator',
};

function refusedSince(offered: string, faults: readonly Finding[]): Check {
  const what = offered === 'missing' ? 'no file at all' : `the checksum ${offered.slice(0, 12)}…`;
  const why = faults[0] === undefined ? '' : ` ${faults[0].message}`;
  return trouble(
    { area, name: 'refused_since', found: `The registry last offered was refused (${what}).${why}` },
    {
      meaning: 'The last good one is in force, and every package counts as stale. This file is valid.',
      fix: 'Give this file to the machine whose registry is refused, or run "npx agent-knowledge refresh --all".',
      who: 'operator',
    },
  );
}

function checkAgreement({ daemons }: Known): Check[] {
  const offered = daemons.flatMap(({ host, processId, condition: { registryOffered } }) =>
    registryOffered === null ? [] : [{ daemon: `process ${processId} on ${host}`, registryOffered }],
  );
  if (new Set(offered.map((entry) => entry.registryOffered)).size < 2) return [];
  const each = offered.map(({ daemon, registryOffered }) => `${daemon}: ${registryOffered.slice(0, 12)}`);
  return [
    trouble(
      {
        area,
        name: 'registries_differ',
        found: `The live daemons read different registries (${each.join('; ')}).`,
      },
      {
        meaning: 'None of them takes effect: the registry in force stays until they agree.',
        fix: 'Give every daemon the same registry file.',
        who: 'operator',
      },
    ),
  ];
}
