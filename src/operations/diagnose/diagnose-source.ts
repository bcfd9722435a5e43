import type { Check } from '../../core/check.ts';
import type { Registry } from '../../core/package.ts';
import { parseRegistry } from '../../core/registry/registry.ts';
import { diagnoseDrive, type DrivePorts } from './diagnose-drive.ts';
import { diagnoseFolder, type FolderPorts } from './diagnose-folder.ts';
import type { FilePorts } from './files.ts';
import type { Known } from './known.ts';
import { checkRegistry } from './registry.ts';
import { told } from './told.ts';

/** The registry and the source it lists files of; what is asked beside the files depends on which source it is. */
export interface SourcePorts extends FilePorts {
  readonly registryPath: string;
  /** The registry's bytes; null where there is no such file. */
  readonly readRegistry: () => Promise<Uint8Array | null>;
  readonly place: FolderPorts | DrivePorts;
}

/**
 * The registry, the root or the drive, every listed file, and how changes are noticed. Where the file of the registry is
 * refused, the files of the one in force are checked.
 */
export async function diagnoseSource(ports: SourcePorts, known: Known | null, now: Date): Promise<Check[]> {
  let registry: Registry | null = known?.registry ?? null;
  const checks = await told('registry', async () => {
    const bytes = await ports.readRegistry();
    const parsed = parseRegistry(bytes);
    if (parsed.ok) registry = parsed.registry;
    return checkRegistry(ports.registryPath, bytes, known);
  });
  const { place } = ports;
  const rest =
    place.kind === 'folder'
      ? await diagnoseFolder({ ...ports, ...place }, registry, known)
      : await diagnoseDrive({ ...ports, ...place }, { registry, known, now });
  return [...checks, ...rest];
}
