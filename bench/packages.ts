import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256 } from '../src/core/checksum.ts';
import type { PackageLook } from '../src/core/look.ts';
import type { RelativePath } from '../src/core/package.ts';
import { acceptRegistry, type RegistryInForce } from '../src/operations/accept-registry.ts';
import { finishLook, openLook } from '../src/operations/refresh-knowledge.ts';
import type { Scene } from './harness.ts';

export const filesOfPackage = 7;
const bytesOfFile = 2600;

const vocabulary = Array.from({ length: 3000 }, (_, index) => {
  const digest = sha256(`word ${index}`);
  return digest
    .slice(0, 3 + (Number.parseInt(digest.slice(0, 2), 16) % 7))
    .replaceAll(/[0-9]/g, (digit) => 'aeioustrnl'[Number(digit)] ?? '');
});

/** Text like a business person's, different for every seed: common words often, rare ones seldom, as prose compresses. */
export function prose(seed: string): string {
  let state = Number.parseInt(sha256(seed).slice(0, 8), 16);
  let text = `# ${seed}\n\n`;
  while (text.length < bytesOfFile) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const rank = Math.floor(vocabulary.length * (state / 2 ** 32) ** 3);
    text += `${vocabulary[rank]}${state % 13 === 0 ? '.\n' : ' '}`;
  }
  return `${text.slice(0, bytesOfFile - 1)}\n`;
}

export const agentName = (index: number) => `agent_${String(index).padStart(4, '0')}`;
export const filePath = (agent: string, index: number) => `${agent}/file-${index}.md` as RelativePath;

/** Puts a registry of this many agents, seven files each, in force. */
export async function registerAgents(
  scene: Scene,
  count: number,
): Promise<RegistryInForce & { bytes: Uint8Array }> {
  const agents = Array.from({ length: count }, (_, index) => agentName(index));
  const entries = agents.map((agent) => [
    agent,
    {
      enabled: true,
      agent_code: 'B',
      stage: 's',
      package_version: 'v01',
      files: Array.from({ length: filesOfPackage }, (_, index) => ({
        relative_path: filePath(agent, index),
        load_order: index,
        required: true,
      })),
    },
  ]);
  const bytes = Buffer.from(JSON.stringify({ registry_version: '1', agents: Object.fromEntries(entries) }));
  const inForce = await acceptRegistry(scene.context, {
    bytes,
    looker: scene.looker,
    watchEnvironments: ['production'],
  });
  return { ...inForce, bytes };
}

/** Writes an agent's files below a folder. */
export async function writeFiles(root: string, agent: string): Promise<void> {
  await mkdir(dirname(join(root, filePath(agent, 0))), { recursive: true });
  for (let index = 0; index < filesOfPackage; index += 1) {
    await writeFile(join(root, filePath(agent, index)), prose(`${agent} ${index}`));
  }
}

/** What a look at an agent's files sees: each revision changes one file, in turn, and leaves the other six as they were. */
export function lookAtRevision(agent: string, revision: number): PackageLook {
  const files = Array.from({ length: filesOfPackage }, (_, index) => {
    const age = (((revision - index) % filesOfPackage) + filesOfPackage) % filesOfPackage;
    const content = Buffer.from(prose(`${agent} ${index} revision ${Math.max(-1, revision - age)}`));
    return {
      state: 'present' as const,
      relativePath: filePath(agent, index),
      checksum: sha256(content),
      sizeBytes: content.length,
      content,
    };
  });
  return { root: 'present', files, notices: [] };
}

/** One refresh from the ticket to the commit, without the quiet time. */
export async function refreshWith(
  scene: Scene,
  inForce: RegistryInForce,
  agent: string,
  look: PackageLook,
): Promise<void> {
  const { registry } = inForce;
  const definition = registry?.agents.get(agent);
  if (!registry || !definition) throw new Error(`${agent} is not registered`);
  const open = await openLook(scene.context, scene.looker, { agentKey: agent, environment: 'production' });
  const result = await finishLook(scene.context, {
    definition,
    registryVersion: registry.registryVersion,
    registryChecksum: registry.checksum,
    sourceType: 'local',
    look,
    open,
    trigger: 'watch',
    looker: scene.looker,
    extraWarnings: [],
  });
  if (result.outcome !== 'LOADED') throw new Error(`${agent}: ${result.outcome} ${result.message}`);
}
