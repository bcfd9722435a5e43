import { createHash } from 'node:crypto';
import type { RelativePath, Sha256 } from './package.ts';

/** SHA-256 of the exact bytes, as 64 lowercase hex digits (the *file checksum*). */
export function sha256(bytes: Uint8Array | string): Sha256 {
  return createHash('sha256').update(bytes).digest('hex') as Sha256;
}

/** What `sha256sum -c SHA256SUMS` reads: one line per file in load order. */
export interface BundleLine {
  readonly checksum: Sha256;
  readonly relativePath: RelativePath;
}

/**
 * The text a bundle's checksum is taken of: file checksum, two spaces, path, line feed, per file in load order. It
 * says everything about order and content exactly once, since the registry refuses line feeds and backslashes in
 * paths (G-08, T14).
 */
export function bundleText(files: readonly BundleLine[]): string {
  return files.map((file) => `${file.checksum}  ${file.relativePath}\n`).join('');
}

/** The *bundle checksum*: SHA-256 of `bundleText`, so that `sha256sum SHA256SUMS` gives it. */
export function bundleChecksum(files: readonly BundleLine[]): Sha256 {
  return sha256(bundleText(files));
}
