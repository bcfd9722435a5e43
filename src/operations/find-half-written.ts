import type { PackageLook, PresentFile } from '../core/look.ts';
import { isCutOff, suspicionOf, type Suspicion } from '../core/suspicion.ts';
import { readBlobs } from '../store/blobs.ts';
import type { PackageName } from '../store/job-queue.ts';
import { listVersions, readFiles, type FileRow } from '../store/package-versions.ts';
import type { Context } from './context.ts';

export interface HalfWritten {
  readonly relativePath: string;
  readonly suspicion: Suspicion;
}

/**
 * The first file of a look with content that looks half written beside the active version's; null where none does. Stored
 * content is read only for a file that is somewhat shorter than it was.
 */
export async function findHalfWritten(
  context: Context,
  name: PackageName,
  look: PackageLook,
): Promise<HalfWritten | null> {
  if (look.root !== 'present') return null;
  const active = await readActiveFiles(context, name);
  for (const file of look.files) {
    if (file.state !== 'present') continue;
    const before = active.get(file.relativePath);
    if (before?.checksum === file.checksum) continue;
    const suspicion = await suspicionAbout(context, file, before);
    if (suspicion !== null) return { relativePath: file.relativePath, suspicion };
  }
  return null;
}

async function suspicionAbout(
  context: Context,
  { content }: PresentFile,
  before: FileRow | undefined,
): Promise<Suspicion | null> {
  if (content === null) return null;
  const suspicion = suspicionOf(content, before?.sizeBytes ?? null);
  if (suspicion !== 'compare' || before === undefined) return suspicion === 'compare' ? null : suspicion;
  const blobs = await context.database.read((queries) => readBlobs(queries, [before.checksum]));
  const activeContent = blobs.get(before.checksum);
  return activeContent !== undefined && isCutOff(content, activeContent) ? 'cut_off' : null;
}

async function readActiveFiles(
  context: Context,
  { agentKey, environment }: PackageName,
): Promise<ReadonlyMap<string, FileRow>> {
  return context.database.read(async (queries) => {
    const filter = { agentKey, environment, active: true } as const;
    const versions = await listVersions(queries, filter, { staleAfterMs: 0 });
    const files = await readFiles(
      queries,
      versions.map((version) => version.id),
    );
    return new Map(files.map((file) => [file.relativePath as string, file]));
  });
}
