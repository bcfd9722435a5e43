import { sha256 } from '../../src/core/checksum.ts';
import { readVersion } from '../../src/operations/read-knowledge.ts';
import type { TestDatabase } from './database.ts';
import { openLooks, type TestAgent } from './looks.ts';

/** `mine` has v1 and v2, v2 active; `other` has v1…v3; both hold `core.md` alone. */
export interface PlantedFacts {
  readonly mine: string;
  readonly other: string;
  /** Row ids of `mine`'s v2. */
  readonly version: number;
  readonly actor: number;
  readonly registry: string;
  /** Checksum of v2's only blob, and of one that is stored and unused by it. */
  readonly blob: string;
  readonly spare: string;
  readonly login: string;
  readonly superuser: string;
}

export async function plant(into: TestDatabase): Promise<{ mine: TestAgent; facts: PlantedFacts }> {
  const looks = await openLooks(into);
  const mine = looks.agent();
  const other = looks.agent();
  for (const text of ['one', 'two']) await mine.refresh(text);
  for (const text of ['uno', 'due', 'tre']) await other.refresh(text);
  const version = await readVersion(into.context(), { ...mine.name, knowledgeVersion: 'v2' });
  return {
    mine,
    facts: {
      mine: mine.name.agentKey,
      other: other.name.agentKey,
      version: version.id,
      actor: looks.looker.actorId,
      registry: (
        await into.asSuperuser((client) =>
          client.query<{ checksum: string }>('select checksum from agent_knowledge.registry_snapshot'),
        )
      ).rows[0]!.checksum,
      blob: sha256('two'),
      spare: sha256('tre'),
      login: decodeURIComponent(new URL(into.applicationUrl).username),
      superuser: decodeURIComponent(new URL(into.superuserUrl).username),
    },
  };
}

export const at = (key: string) => `where agent_key = '${key}' and environment = 'production'`;
export const takeNumber = (f: PlantedFacts, by = 1) =>
  `update package set next_number = next_number + ${by} ${at(f.mine)};`;
export const event = (f: PlantedFacts, action = 'agent.knowledge_rollback', key = f.mine) =>
  `insert into knowledge_event (actor_id, action, agent_key, environment, details)
   values (${f.actor}, '${action}', '${key}', 'production', '{}');`;
export const point = (f: PlantedFacts, number: string) =>
  `update package set active_number = ${number} ${at(f.mine)};`;

/** A version row as `appendVersion` writes it, of one file `core.md` with content `tre`, changed as a test needs. */
export function version(f: PlantedFacts, change: Record<string, string | number> = {}): string {
  const row = {
    agent_key: `'${f.mine}'`,
    environment: `'production'`,
    number: 3,
    checksum: `'${sha256(`${f.spare}  core.md\n`)}'`,
    agent_code: `'A'`,
    stage: `'test'`,
    package_version: `'v01'`,
    registry_version: `'1.0'`,
    registry_checksum: `'${f.registry}'`,
    file_count: 1,
    total_size_bytes: 3,
    source_type: `'local'`,
    ticket: 1,
    loaded_by: f.actor,
    ...change,
  };
  return `insert into package_version (${Object.keys(row).join(', ')}) values (${Object.values(row).join(', ')});`;
}

export function file(f: PlantedFacts, change: Record<string, string | number> = {}): string {
  const row = {
    version_id: `(select max(id) from package_version ${at(f.mine)})`,
    load_order: 1,
    relative_path: `'core.md'`,
    required: 'true',
    checksum: `'${f.spare}'`,
    size_bytes: 3,
    ...change,
  };
  return `insert into version_file (${Object.keys(row).join(', ')}) values (${Object.values(row).join(', ')});`;
}
