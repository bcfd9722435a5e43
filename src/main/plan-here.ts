import type { Settings } from '../../config/settings.ts';
import type { CallContext } from '../operations/context.ts';
import { previewRefresh, type RefreshPreview } from '../operations/preview-refresh.ts';
import { openLocalSource } from '../source/local-source.ts';
import { readRegistryFile } from '../source/registry-file.ts';
import { policyOf } from './policy.ts';

/** What a refresh would do now, read by this process itself: the registry's file and one look at the source. */
export async function planHere(
  settings: Settings,
  name: { readonly agentKey: string; readonly environment: string },
  context: CallContext | null,
): Promise<RefreshPreview> {
  const registryBytes = await readRegistryFile(settings.registryPath);
  // One look needs no spare reader.
  await using source = openLocalSource({ root: settings.localPath, limits: { readers: 1 } });
  return await previewRefresh({ name, policy: policyOf(settings), registryBytes, source, context });
}
