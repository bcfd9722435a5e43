import type { DriveItem } from './drive-item.ts';
import { quickXorHash } from './quick-xor-hash.ts';

/** Whether length and hash are what the item says of itself, as far as it says them: an empty file may have no hash (bug 20). */
export function isAsReported({ sizeBytes, quickXorHash: hash }: DriveItem, bytes: Uint8Array): boolean {
  if (sizeBytes !== null && sizeBytes !== bytes.length) return false;
  return hash === null || hash === quickXorHash(bytes);
}
