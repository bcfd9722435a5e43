import { randomBytes } from 'node:crypto';
import type { KeyMaterial } from '../operations/manage-keys.ts';
import type { SignInMaterial } from '../operations/sign-in.ts';

/** Fresh random parts of a key: a public id, and a secret of 32 bytes (T1). */
export function newKeyMaterial(): KeyMaterial {
  return { keyId: newId(), secret: newSecret() };
}

/** Fresh random parts of a sign-in link: the public id of its session, and a code of 32 bytes (T31). */
export function newSignInMaterial(): SignInMaterial {
  return { sessionId: newId(), code: newSecret() };
}

function newId(): string {
  return randomBytes(6).toString('hex');
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}
