import { maxPackageBytes } from './plan-refresh.ts';
import { makeAgentKey } from './propose-agent-key.ts';
import { comparePaths, isShared } from './propose-order.ts';
import { maxFilesPerPackage } from './registry/files.ts';
import { foldPath } from './registry/relative-path.ts';

/** What a walk through a folder found that a registry could list, and what it passed over. */
export interface FolderSurvey {
  /** The folder's own name. */
  readonly name: string;
  readonly files: readonly { readonly relativePath: string; readonly sizeBytes: number }[];
  readonly leftOut: readonly LeftOut[];
  /** What a person should know that is about no single file. */
  readonly notes: readonly string[];
}

/** A path that is not proposed, and the end of a sentence that begins with it. */
export interface LeftOut {
  readonly path: string;
  readonly reason: string;
}

/** A registry to start from, to be edited by a person; null where the folder holds nothing to list. */
export interface Proposal {
  readonly document: RegistryDocument | null;
  readonly leftOut: readonly LeftOut[];
  readonly notes: readonly string[];
}

interface RegistryDocument {
  readonly registry_version: string;
  readonly agents: Readonly<Record<string, AgentDocument>>;
}

interface AgentDocument {
  readonly enabled: boolean;
  readonly agent_code: string;
  readonly stage: string;
  readonly package_version: string;
  readonly files: readonly FileDocument[];
}

interface FileDocument {
  readonly relative_path: string;
  readonly load_order: number;
  readonly required: boolean;
}

/** Far below what a registry may have: escaping and indenting make it longer, and a person is to read it. */
const maxDocumentBytes = 2 * 1024 * 1024;
const maxAgents = 500;

/**
 * A registry that lists the surveyed files and passes every rule (K-012…K-021): an agent for each top-level folder with
 * its files and, before them, those of the shared folders; one agent alone where there are no folders.
 */
export function proposeRegistry(survey: FolderSurvey): Proposal {
  const leftOut = [...survey.leftOut];
  const notes = [...survey.notes];
  const agents: Record<string, AgentDocument> = {};
  const keys = new Set<string>();
  let bytes = 0;
  for (const group of groupFiles(survey, leftOut)) {
    const agentKey = makeAgentKey(group.folder, keys);
    const agent = proposeAgent(agentKey, group, { leftOut, notes });
    bytes += new TextEncoder().encode(JSON.stringify(agent)).length;
    if (keys.size === maxAgents || bytes > maxDocumentBytes) {
      notes.push(
        `The proposal ends before the folder ${group.folder}: a registry of that many agents is no start.`,
      );
      break;
    }
    keys.add(agentKey);
    agents[agentKey] = agent;
  }
  const document = keys.size === 0 ? null : { registry_version: '1.0', agents };
  return { document, leftOut, notes };
}

interface Group {
  readonly folder: string;
  readonly files: FolderSurvey['files'];
}

function groupFiles({ name, files }: FolderSurvey, leftOut: LeftOut[]): Group[] {
  const folders = Map.groupBy(files, ({ relativePath }) =>
    relativePath.slice(0, Math.max(0, relativePath.indexOf('/'))),
  );
  const names = [...folders.keys()].filter((folder) => folder !== '').toSorted(comparePaths);
  if (names.length === 0) return files.length === 0 ? [] : [{ folder: name, files }];
  const loose = folders.get('') ?? [];
  for (const { relativePath } of loose)
    leftOut.push({ path: relativePath, reason: 'lies in no top-level folder; list it where it belongs' });
  const own = names.filter((folder) => !isShared(folder));
  const shared = names.filter(isShared).flatMap((folder) => folders.get(folder) ?? []);
  // Shared knowledge alone is somebody's all the same.
  if (own.length === 0) return names.map((folder) => ({ folder, files: folders.get(folder) ?? [] }));
  return own.map((folder) => ({ folder, files: [...shared, ...(folders.get(folder) ?? [])] }));
}

function proposeAgent(
  agentKey: string,
  { files }: Group,
  told: { readonly leftOut: LeftOut[]; readonly notes: string[] },
): AgentDocument {
  const sorted = files.toSorted((left, right) => comparePaths(left.relativePath, right.relativePath));
  const listed = new Map<string, (typeof sorted)[number]>();
  for (const file of sorted) {
    const same = listed.get(foldPath(file.relativePath));
    if (same === undefined) listed.set(foldPath(file.relativePath), file);
    else leaveOutOnce(told.leftOut, file.relativePath, `differs from ${same.relativePath} in spelling only`);
  }
  const kept = [...listed.values()].slice(0, maxFilesPerPackage);
  if (listed.size > kept.length)
    told.notes.push(
      `${agentKey}: ${listed.size} files, of which the first ${maxFilesPerPackage} are proposed; a package holds no more.`,
    );
  const bytes = kept.reduce((sum, file) => sum + file.sizeBytes, 0);
  if (bytes > maxPackageBytes)
    told.notes.push(
      `${agentKey}: its files have ${bytes} bytes; a package holds at most ${maxPackageBytes}.`,
    );
  return {
    enabled: true,
    agent_code: 'CODE',
    stage: agentKey,
    package_version: 'v01',
    files: kept.map(({ relativePath }, index) => ({
      relative_path: relativePath,
      load_order: index + 1,
      required: true,
    })),
  };
}

/** A shared file is proposed for every agent, and left out of all of them for the same reason. */
function leaveOutOnce(leftOut: LeftOut[], path: string, reason: string): void {
  if (!leftOut.some((entry) => entry.path === path)) leftOut.push({ path, reason });
}
