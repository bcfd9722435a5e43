import { randomBytes } from 'node:crypto';
import type { KeyMaterial } from '../operations/manage-keys.ts';

/** Fresh random parts of a key: a public id, and a secret of 32 bytes (T1). */
export function newKeyMaterial(): KeyMaterial {
  return { keyId: randomBytes(6).toString('hex'), secret: randomBytes(32).toString('base64url') };
}
