import { sha256 } from '../checksum.ts';
import type { Finding, RegistryFaultCode } from '../finding.ts';
import type { PackageDefinition, Registry } from '../package.ts';
import { below, readFields, refuse, type Spot } from './fields.ts';
import { readFiles } from './files.ts';
import type { RegistryNotes } from './notes.ts';
import { readRegistryText } from './text.ts';
import { readBoolean, readLabel } from './values.ts';
import { readStrictJson } from './strict-json.ts';

/** A registry that passed every rule, or why it did not. */
export type RegistryParse =
  | { readonly ok: true; readonly registry: Registry }
  | {
      readonly ok: false;
      /** At least one; the first is the reason. */
      readonly faults: readonly Finding<RegistryFaultCode>[];
      readonly warnings: readonly Finding[];
    };

/**
 * The registry in these bytes, or everything that is wrong with them at once; null stands for a file that is absent.
 * Never throws. A registry with any fault is refused whole, faults of disabled agents included (K-012).
 *
 * Strict UTF-8 (one byte-order mark is a warning) and strict JSON of at most 16 MiB; unknown keys are warnings. Faults
 * come in this order: the file, its JSON, keys that stand twice, then agent by agent, field by field. At most 1,000
 * faults and 1,000 warnings are kept.
 */
export function parseRegistry(bytes: Uint8Array | null): RegistryParse {
  const read = readRegistryText(bytes);
  if (!read.ok) return { ok: false, faults: [read.fault], warnings: [] };
  const notes: RegistryNotes = { faults: [], warnings: [...read.warnings] };
  const node = readStrictJson(read.text, notes);
  const content = node && readContent({ node, path: [], relativePath: null, notes });
  const { faults, warnings } = notes;
  if (content === null || faults.length > 0) return { ok: false, faults, warnings };
  return { ok: true, registry: { ...content, checksum: sha256(read.bytes), warnings } };
}

/** K-020: the contract's fields and no others. */
function readContent(spot: Spot): Pick<Registry, 'registryVersion' | 'agents'> | null {
  const fields = readFields(spot, ['registry_version', 'agents']);
  const expected = 'an object with registry_version and agents';
  if (fields === null) return refuse(spot, { code: 'registry_bad_shape', expected });
  const registryVersion = readLabel(fields.registry_version, { min: 1, max: 40 });
  const agents = readAgents(fields.agents);
  return registryVersion === null || agents === null ? null : { registryVersion, agents };
}

function readAgents(spot: Spot | undefined): ReadonlyMap<string, PackageDefinition> | null {
  if (spot === undefined) return null;
  const expected = 'an object with one member per agent';
  if (spot.node.kind !== 'object') return refuse(spot, { code: 'registry_bad_shape', expected });
  const agents = new Map<string, PackageDefinition>();
  for (const { key, value } of spot.node.members) {
    const agent = readAgent(below(spot, key, value), key);
    if (agent !== null) agents.set(key, agent);
  }
  return agents;
}

function readAgent(spot: Spot, agentKey: string): PackageDefinition | null {
  checkAgentKey(spot, agentKey);
  const fields = readFields(spot, ['enabled', 'agent_code', 'stage', 'package_version', 'files']);
  if (fields === null)
    return refuse(spot, { code: 'bad_type', expected: 'an object that describes an agent' });
  const enabled = readBoolean(fields.enabled);
  const agentCode = readLabel(fields.agent_code, { min: 0, max: 80 });
  const stage = readLabel(fields.stage, { min: 0, max: 80 });
  const packageVersion = readLabel(fields.package_version, { min: 1, max: 40 });
  const files = readFiles(fields.files);
  if (enabled === null || agentCode === null || stage === null) return null;
  if (packageVersion === null || files === null) return null;
  return { agentKey, enabled, agentCode, stage, packageVersion, files };
}

/** The key is part of addresses, scopes and file names, so it is plain in all of them. */
function checkAgentKey(spot: Spot, agentKey: string): void {
  if (/^[a-z][a-z0-9_]{0,62}$/.test(agentKey)) return;
  const expected = 'a key of at most 63 of a-z, 0-9 and _ that starts with a letter';
  const node = { kind: 'text', line: spot.node.line, value: agentKey } as const;
  refuse({ ...spot, node }, { code: 'bad_agent_key', expected });
}
