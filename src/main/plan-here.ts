import type { Settings } from '../../config/settings.ts';
import { noMemory } from '../core/item-memory.ts';
import type { CallContext } from '../operations/context.ts';
import { openDriveMemory } from '../operations/drive-memory.ts';
import { lookPatienceMs, withPatience } from '../operations/patient-source.ts';
import { previewRefresh, type RefreshPreview } from '../operations/preview-refresh.ts';
import { readRegistryFile } from '../source/registry-file.ts';
import { openSource } from './open-source.ts';
import { policyOf } from './policy.ts';

/** What a refresh would do now, read by this process itself: the registry's file and one look at the source. */
export async function planHere(
  settings: Settings,
  name: { readonly agentKey: string; readonly environment: string },
  context: CallContext | null,
): Promise<RefreshPreview> {
  const registryBytes = await readRegistryFile(settings.registryPath);
  const memory = context === null ? noMemory : openDriveMemory(context);
  // One look needs no spare reader.
  await using opened = await openSource(settings, { memory, readers: 1 });
  const source = withPatience(opened.source, lookPatienceMs);
  return await previewRefresh({ name, policy: policyOf(settings), registryBytes, source, context });
}
