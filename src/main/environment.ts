import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadSettings, type Settings } from '../../config/settings.ts';

/** The folder of this clone or installation; relative settings count from here. */
export const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The settings of this process: its environment over the `.env` of the project's root, where there is one. What that file
 * says becomes part of the environment, for libraries with variables of their own read them there.
 */
export function readSettings(): Settings {
  const file = join(projectRoot, '.env');
  if (existsSync(file)) process.loadEnvFile(file);
  return loadSettings(process.env, projectRoot);
}
