import { bundleChecksum } from './checksum.ts';
import type { PackageLook } from './look.ts';
import type { PackageDefinition, Sha256 } from './package.ts';

/**
 * The bundle checksum that a look without content amounts to, where it saw a package that could be whole; null where
 * something is missing or refused. An optional file that turns out to be blank is counted here and skipped by a refresh,
 * so this can only show that nothing has changed, never that something has.
 */
export function seenBundleChecksum(definition: PackageDefinition, look: PackageLook): Sha256 | null {
  if (look.root !== 'present') return null;
  const lines = [];
  for (const [index, file] of definition.files.entries()) {
    const found = look.files[index];
    if (found?.state === 'present') lines.push(found);
    else if (found?.state !== 'absent' || file.required) return null;
  }
  return lines.length === 0 ? null : bundleChecksum(lines);
}
