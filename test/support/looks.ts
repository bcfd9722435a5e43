import { sha256 } from '../../src/core/checksum.ts';
import type { FileLook, PackageLook } from '../../src/core/look.ts';
import type { FileDefinition, PackageDefinition, RelativePath } from '../../src/core/package.ts';
import { acceptRegistry } from '../../src/operations/accept-registry.ts';
import type { CallContext, Context } from '../../src/operations/context.ts';
import { readPackageOf } from '../../src/operations/read-knowledge.ts';
import {
  finishLook,
  openLook,
  type FinishLook,
  type OpenLook,
} from '../../src/operations/refresh-knowledge.ts';
import { requestRefresh } from '../../src/operations/request-refresh.ts';
import { ensureActor } from '../../src/store/actors.ts';
import type { PackageName } from '../../src/store/job-queue.ts';
import { listEvents, type StoredEvent } from '../../src/store/knowledge-events.ts';
import type { PackageRow } from '../../src/store/packages.ts';
import type { AttemptResult, AttemptRow } from '../../src/store/refreshes.ts';
import type { TestDatabase } from './database.ts';

/** What a source holds, path to content; a text alone is the content of `core.md`. */
export type Files = string | Readonly<Record<string, string>>;

/** What a look may be otherwise than a daemon's look at a healthy source. */
export type LookChange = Partial<Omit<FinishLook, 'look' | 'open'>> & {
  readonly context?: Context;
  readonly look?: PackageLook;
};

/** One package with a source in memory: every test takes one of its own, since versions cannot be removed. */
export interface TestAgent {
  readonly name: PackageName;
  readonly definition: PackageDefinition;
  open(): Promise<OpenLook>;
  finish(open: OpenLook, files: Files, change?: LookChange): Promise<AttemptResult>;
  /** Opens a look and finishes it with what the source holds. */
  refresh(files: Files, change?: LookChange): Promise<AttemptResult>;
  /** Asks for a refresh without waiting for it. */
  ask(context: CallContext, options?: { readonly acceptShrink?: boolean }): Promise<AttemptRow>;
  row(): Promise<PackageRow>;
  /** What the log says of this package, oldest first. */
  events(): Promise<(Omit<StoredEvent, 'details'> & { readonly details: Record<string, unknown> })[]>;
}

/** Path and whether it is required, in load order: what every agent of `openLooks` lists. */
const listedFiles: readonly (readonly [path: string, required: boolean])[] = [
  ['core.md', true],
  ['extra-1.md', false],
  ['extra-2.md', false],
  ['extra-3.md', false],
  ['extra-4.md', false],
];

/** A registry in force, and agents of it to be had one by one. */
export interface TestLooks {
  readonly registryBytes: Uint8Array;
  readonly looker: { readonly id: string; readonly actorId: number };
  /** The next agent nobody has had, in the default environment unless told. */
  agent(environment?: string): TestAgent;
  /** The same agent in another environment. */
  elsewhere(agent: TestAgent, environment: string): TestAgent;
}

/** Puts a registry of many equal agents in force and stands in for the daemon that looks at them. */
export async function openLooks(database: TestDatabase): Promise<TestLooks> {
  const context = database.context();
  const actorId = await database.database.transaction((queries) => ensureActor(queries, 'daemon', 'looker'));
  const looker = { id: 'looker', actorId };
  const keys = Array.from({ length: 100 }, (_, index) => `agent_${String(index + 1).padStart(3, '0')}`);
  const bytes = registryBytes(keys);
  const { registry } = await acceptRegistry(context, { bytes, looker, watchEnvironments: ['production'] });
  if (registry === null) throw new TypeError('The registry of this file is a good one.');
  const agentOf = (agentKey: string, environment: string): TestAgent => {
    const definition = registry.agents.get(agentKey);
    if (!definition) throw new TypeError('A test file has at most 100 agents.');
    const name = { agentKey, environment };
    const open = () => openLook(context, looker, name);
    const finish: TestAgent['finish'] = (opened, files, { context: other, look, ...change } = {}) =>
      finishLook(other ?? context, {
        definition,
        registryVersion: registry.registryVersion,
        registryChecksum: registry.checksum,
        sourceType: 'local',
        look: look ?? lookOf((change.definition ?? definition).files, files),
        open: opened,
        trigger: 'watch',
        looker,
        extraWarnings: [],
        ...change,
      });
    return {
      name,
      definition,
      open,
      finish,
      refresh: async (files, change) => finish(await open(), files, change),
      ask: (caller, options = {}) => requestRefresh(caller, { ...name, waitSeconds: 0, ...options }),
      row: () => readPackageOf(context, name),
      events: () => readEvents(database, name),
    };
  };
  let given = 0;
  return {
    registryBytes: bytes,
    looker,
    agent: (environment = 'production') => agentOf(keys[given++] ?? 'none', environment),
    elsewhere: (agent, environment) => agentOf(agent.name.agentKey, environment),
  };
}

/** What a source that holds these files shows to a look. */
export function lookOf(definitions: readonly FileDefinition[], files: Files): PackageLook {
  const held = typeof files === 'string' ? { 'core.md': files } : files;
  return {
    root: 'present',
    files: definitions.map((file) => fileLook(file.relativePath, held[file.relativePath])),
    notices: [],
  };
}

function fileLook(relativePath: RelativePath, text: string | undefined): FileLook {
  if (text === undefined) return { state: 'absent', relativePath, hints: [] };
  const content = new TextEncoder().encode(text);
  return { state: 'present', relativePath, checksum: sha256(content), sizeBytes: content.length, content };
}

function registryBytes(keys: readonly string[]): Uint8Array {
  const files = listedFiles.map(([path, required], index) => ({
    relative_path: path,
    load_order: index + 1,
    required,
  }));
  const agents = Object.fromEntries(
    keys.map((key) => [
      key,
      { enabled: true, agent_code: key.toUpperCase(), stage: 'test', package_version: 'v01', files },
    ]),
  );
  return new TextEncoder().encode(JSON.stringify({ registry_version: '1.0', agents }));
}

async function readEvents(database: TestDatabase, name: PackageName): ReturnType<TestAgent['events']> {
  const all = { agents: null, environments: null, general: true };
  const events = await database.database.read((queries) =>
    listEvents(queries, { ...name, ...all }, { limit: 10_000, before: null }),
  );
  return events
    .toReversed()
    .map((event) => ({ ...event, details: JSON.parse(event.details) as Record<string, unknown> }));
}
