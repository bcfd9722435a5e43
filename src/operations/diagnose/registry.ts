import { firstChecks, fine, trouble, warn, type Advice, type Check } from '../../core/check.ts';
import { counted } from '../../core/count.ts';
import type { Finding } from '../../core/finding.ts';
import { parseRegistry, type RegistryParse } from '../../core/registry/registry.ts';
import type { Known } from './known.ts';
import { sentence } from './told.ts';

const area = 'registry';

/** Faults of one file that are told one by one. */
const maxFaults = 50;

/** Whether the registry's file is valid, whether it is the one in force, and whether all daemons read the same one. */
export function checkRegistry(path: string, bytes: Uint8Array | null, known: Known | null): Check[] {
  const parsed = parseRegistry(bytes);
  return [
    ...checkFile(path, parsed, known),
    ...(known === null ? [] : [...checkInForce(parsed, known), ...checkAgreement(known)]),
  ];
}

function checkFile(path: string, parsed: RegistryParse, known: Known | null): Check[] {
  const warnings = parsed.ok ? parsed.registry.warnings : parsed.warnings;
  const told = parsed.ok
    ? [fine({ area, name: 'valid', found: describe(path, parsed) })]
    : firstChecks(
        parsed.faults.map((fault) => refused(fault, path, known)),
        maxFaults,
      );
  return [...told, ...firstChecks(warnings.map(noticed), maxFaults)];
}

function describe(path: string, { registry }: Extract<RegistryParse, { ok: true }>): string {
  const agents = [...registry.agents.values()];
  const enabled = agents.filter((agent) => agent.enabled).length;
  return `${path} is valid: version ${registry.registryVersion}, ${counted(agents.length, 'agent')}, ${enabled} of them enabled.`;
}

function refused(fault: Finding, path: string, known: Known | null): Check {
  const who = 'operator';
  if (fault.code === 'registry_missing') {
    const found = `There is no registry file ${path}.`;
    const fix = 'Put the registry there, or correct AGENT_KNOWLEDGE_REGISTRY_PATH.';
    return trouble({ area, name: fault.code, found }, { meaning: sentence(`${staying(known)}.`), fix, who });
  }
  return trouble(finds(fault), {
    meaning: `The registry is refused whole; ${staying(known)}.`,
    fix: 'Correct it at the place named; "npx agent-knowledge registry check" looks again.',
    who,
  });
}

/** The message with a capital, unless it begins with the name of a key. */
function begun(message: string): string {
  return message.startsWith('the registry') ? sentence(message) : message;
}

/** What is in force where a file is refused, as far as the database says. */
function staying(known: Known | null): string {
  if (known === null) return 'the last good one, if there was one, stays in force';
  return known.registryState.checksum === null
    ? 'there is no registry in force'
    : 'the last good one stays in force';
}

function noticed(warning: Finding): Check {
  return warn(finds(warning), {
    meaning: 'The registry is accepted all the same.',
    fix: 'Correct it at the place named if it was meant otherwise.',
    who: 'operator',
  });
}

function finds({ code, line, message, relativePath }: Finding) {
  // Of broken JSON the message names line and column itself.
  const saysWhere = line === null || new RegExp(`\\bline ${line}\\b`, 'i').test(message);
  const found = saysWhere ? begun(message) : `Line ${line}: ${message}`;
  return { area, name: code, found, relativePath } as const;
}

function checkInForce(parsed: RegistryParse, { registryState, daemons }: Known): Check[] {
  const { checksum, rejectedChecksum } = registryState;
  if (rejectedChecksum !== null && parsed.ok) return [refusedSince(rejectedChecksum, registryState)];
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

function refusedSince(offered: string, { checksum, faults }: Known['registryState']): Check {
  const what = offered === 'missing' ? 'no file at all' : `the checksum ${offered.slice(0, 12)}…`;
  const why = faults[0] === undefined ? '' : ` ${begun(faults[0].message)}`;
  return trouble(
    { area, name: 'refused_since', found: `The registry last offered was refused (${what}).${why}` },
    {
      meaning:
        checksum === null
          ? 'There is no registry in force. This file is valid.'
          : 'The last good one is in force, and every package counts as stale. This file is valid.',
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
