import type { Registry } from '../../src/core/package.ts';
import { parseRegistry } from '../../src/core/registry/registry.ts';

/** A piece of a registry that a test may get wrong. */
export type Json = Record<string, unknown>;

export const bytesOf = (text: string) => new TextEncoder().encode(text);
/** One listed file. */
export const file = (relativePath: unknown, loadOrder: unknown = 1): Json => ({
  relative_path: relativePath,
  load_order: loadOrder,
  required: true,
});
/** One agent with two files. */
export const agent = (changes: Json = {}): Json => ({
  enabled: true,
  agent_code: 'AUTO-100',
  stage: 'triage',
  package_version: 'v01',
  files: [file('Shared/core.md', 1), file('Triage/rules.md', 2)],
  ...changes,
});
/** A valid registry, unless the changes say otherwise. */
export const document = (agents: unknown = { triage: agent() }, changes: Json = {}): Json => ({
  registry_version: '1.0',
  agents,
  ...changes,
});
/** A registry of agents and the files that each of them requires, in this order. */
export const registryOf = (agents: Readonly<Record<string, readonly string[]>>): Json =>
  document(
    Object.fromEntries(
      Object.entries(agents).map(([key, paths]) => [
        key,
        agent({ files: paths.map((path, index) => file(path, index + 1)) }),
      ]),
    ),
  );

export const withFiles = (...files: unknown[]) => document({ triage: agent({ files }) });
export const withPath = (path: unknown) => withFiles(file('Shared/core.md', 1), file(path, 2));
/** The valid document's text with one piece of it written otherwise. */
export const rewritten = (from: string, to: string) => JSON.stringify(document()).replace(from, () => to);

/** Parses a text as it is, and anything else as its JSON. */
export const parse = (value: unknown) =>
  parseRegistry(typeof value === 'string' ? bytesOf(value) : bytesOf(JSON.stringify(value, null, 2)));

/** The registry, or an error that names every fault. */
export function accepted(value: unknown): Registry {
  const result = parse(value);
  if (!result.ok) throw new Error(result.faults.map(({ message }) => message).join('\n'));
  return result.registry;
}

export function faultsOf(value: unknown) {
  const result = parse(value);
  return result.ok ? [] : result.faults;
}
export const codesOf = (value: unknown) => faultsOf(value).map(({ code }) => code);
