import type { Finding } from '../src/core/finding.ts';
import { SourceError } from '../src/core/errors.ts';
import type { PackageLook } from '../src/core/look.ts';
import type { PackageDefinition } from '../src/core/package.ts';
import type { RootTrouble } from '../src/core/root-guard.ts';
import { LookAgain } from './look-endings.ts';
import type { RootGate } from './root-guard.ts';

/**
 * Lets a look through that was read from a root that is well. One that met a lost root, another folder in its place or
 * missing required files is judged only after the root has been observed once more (F50).
 *
 * Throws `LookAgain` where the root is not well, and `SourceError` `retry` where it is and the look saw it otherwise.
 */
export async function checkRoot(
  root: RootGate,
  definition: PackageDefinition,
  look: PackageLook,
): Promise<void> {
  if (smells(root, definition, look) && !(await root.look())) {
    throw new SourceError('retry', 'The root folder could not be observed.');
  }
  if (root.state !== 'ok') throw new LookAgain();
  if (look.root === 'trouble' && look.code !== 'unreadable') throw new SourceError('retry', look.message);
  if (isElsewhere(root, look)) {
    throw new SourceError('retry', 'The package was read from another root folder than the one in place.');
  }
}

/** What whoever asks is told while the root is missing. */
export function rootFindings(trouble: RootTrouble | null): {
  readonly faults: readonly [Finding];
  readonly warnings: readonly Finding[];
} {
  const message = trouble?.message ?? 'The root folder is missing.';
  const about = { relativePath: null, line: null, message };
  const warnings = trouble?.reason === 'empty' ? [{ code: 'root_empty' as const, ...about }] : [];
  return { faults: [{ code: 'root_missing', ...about }], warnings };
}

function smells(root: RootGate, definition: PackageDefinition, look: PackageLook): boolean {
  if (look.root === 'trouble' || isElsewhere(root, look)) return true;
  return definition.files.some((file, index) => file.required && look.files[index]?.state === 'absent');
}

function isElsewhere(root: RootGate, look: PackageLook): boolean {
  const identity = look.rootIdentity ?? null;
  return identity !== null && identity !== root.identity;
}
