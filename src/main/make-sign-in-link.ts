import type { Settings } from '../../config/settings.ts';
import type { Context } from '../operations/context.ts';
import { issueSignIn, signInLink } from '../operations/sign-in.ts';
import { newSignInMaterial } from './key-material.ts';
import { operatorName } from './operator-name.ts';
import { reachedUrl } from './public-url.ts';
import { asOperator } from './runtime.ts';

/** A link that signs in who has started the server, as an admin; `url`: where that server is reached. */
export async function makeSignInLink(
  settings: Pick<Settings, 'publicUrl' | 'host'>,
  context: Pick<Context, 'database' | 'policy' | 'clock'>,
  url: string,
): Promise<string> {
  const material = newSignInMaterial();
  const rights = { scopes: ['admin'], agents: null, environments: null };
  await issueSignIn(await asOperator(context), { name: operatorName(), ...rights }, material);
  return signInLink(reachedUrl(settings, url), material);
}
