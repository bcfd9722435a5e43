import type { PackageLook } from './look.ts';

/**
 * A text that two looks share exactly when they saw the same: every file's checksum or fault, or the root's trouble.
 * Two passes with one print, apart in time, are what a capture needs (G9).
 */
export function lookPrint(look: PackageLook): string {
  if (look.root === 'trouble') return JSON.stringify([look.code]);
  return JSON.stringify(
    look.files.map((file) => {
      if (file.state === 'present') return [file.relativePath, file.checksum];
      return [file.relativePath, file.state === 'refused' ? file.code : null];
    }),
  );
}
