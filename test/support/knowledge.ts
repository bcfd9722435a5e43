import { sha256 } from '../../src/core/checksum.ts';
import type { PackageLook } from '../../src/core/look.ts';
import { versionName, type PackageDefinition, type RelativePath } from '../../src/core/package.ts';
import { acceptRegistry } from '../../src/operations/accept-registry.ts';
import { finishLook, openLook } from '../../src/operations/refresh-knowledge.ts';
import type { TestDatabase } from './database.ts';

/** Files by path, in load order. */
export type TestFiles = Readonly<Record<string, string | Uint8Array>>;

export interface TestPackage {
  readonly agentKey: string;
  /** The default one where it is left out. */
  readonly environment?: string;
  readonly files: TestFiles;
  /** What the source shows instead of `files`, which the registry lists all the same. */
  readonly look?: PackageLook;
  readonly watchEnvironments?: readonly string[];
}

type LookResult = Awaited<ReturnType<typeof finishLook>>;
type Registered = Pick<PackageDefinition, 'agentCode' | 'stage' | 'packageVersion'> & {
  readonly paths: readonly string[];
};

/** The agents that each database's registry lists so far: a registry names them all or unlists the others. */
const registered = new WeakMap<TestDatabase, Map<string, Registered>>();

/** Makes a version through the real operations and answers its name; throws when the look comes to anything else. */
export async function loadVersion(testDatabase: TestDatabase, input: TestPackage): Promise<string> {
  const result = await lookAt(testDatabase, input);
  if (result.loadedNumber !== null) return versionName(result.loadedNumber);
  throw new Error(`Expected a new version, found ${result.outcome}: ${result.message}`);
}

/** Registers the agent with these files, then looks once: answers the refreshes that wait, too. */
export async function lookAt(testDatabase: TestDatabase, input: TestPackage): Promise<LookResult> {
  const registry = await registerAgent(testDatabase, input);
  const context = testDatabase.context();
  const name = {
    agentKey: input.agentKey,
    environment: input.environment ?? context.policy.defaultEnvironment,
  };
  const looker = { id: 'test', actorId: context.caller.actorId };
  const open = await openLook(context, looker, name);
  return finishLook(context, {
    definition: registry.definition,
    registryVersion: registry.registryVersion,
    registryChecksum: registry.checksum,
    sourceType: 'local',
    look: input.look ?? lookOf(input.files),
    open,
    trigger: 'request',
    looker,
    extraWarnings: [],
  });
}

/** Puts a registry in force that lists this agent beside those registered before. */
export async function registerAgent(testDatabase: TestDatabase, input: TestPackage) {
  const agents = registered.get(testDatabase) ?? new Map<string, Registered>();
  registered.set(testDatabase, agents);
  agents.set(input.agentKey, {
    agentCode: `CODE-${input.agentKey}`,
    stage: 'Testing',
    packageVersion: 'v01',
    paths: Object.keys(input.files),
  });
  const { registry, faults } = await acceptRegistry(testDatabase.context(), {
    bytes: Buffer.from(JSON.stringify(registryDocument(agents))),
    looker: { id: 'registrar', actorId: testDatabase.context().caller.actorId },
    watchEnvironments: input.watchEnvironments ?? [],
  });
  const definition = registry?.agents.get(input.agentKey);
  if (faults.length > 0 || !registry || !definition) throw new Error(`Refused: ${JSON.stringify(faults)}`);
  return { ...registry, definition };
}

function registryDocument(agents: ReadonlyMap<string, Registered>): object {
  const entries = [...agents].map(([agentKey, agent]) => [
    agentKey,
    {
      enabled: true,
      agent_code: agent.agentCode,
      stage: agent.stage,
      package_version: agent.packageVersion,
      files: agent.paths.map((path, index) => ({
        relative_path: path,
        load_order: index + 1,
        required: true,
      })),
    },
  ]);
  return { registry_version: '1.0', agents: Object.fromEntries(entries) };
}

/** A source that holds exactly these files. */
export function lookOf(files: TestFiles): PackageLook {
  return {
    root: 'present',
    notices: [],
    files: Object.entries(files).map(([path, text]) => {
      const content = typeof text === 'string' ? Buffer.from(text) : text;
      const relativePath = path as RelativePath;
      return {
        state: 'present',
        relativePath,
        checksum: sha256(content),
        sizeBytes: content.length,
        content,
      };
    }),
  };
}

/** Lets the log tell of this many holds of a package, in one transaction: many changes at the price of one. */
export async function growLog(testDatabase: TestDatabase, agentKey: string, count: number): Promise<void> {
  await testDatabase.asSuperuser((client) =>
    client.query(
      `insert into agent_knowledge.knowledge_event (actor_id, action, agent_key, environment, details)
       select $1, 'agent.knowledge_held', $2, 'production', '{"by":"OPERATOR"}' from generate_series(1, $3::int)`,
      [testDatabase.context().caller.actorId, agentKey, count],
    ),
  );
}
