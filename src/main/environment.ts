import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { loadSettings, type Settings } from '../../config/settings.ts';

/** The folder of this clone or installation; relative settings count from here. */
export const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

/** The settings of this process: its environment over the `.env` of the project's root, where there is one. */
export function readSettings(): Settings {
  const file = join(projectRoot, '.env');
  const fromFile = existsSync(file) ? parseEnv(readFileSync(file, 'utf8')) : {};
  return loadSettings({ ...fromFile, ...process.env }, projectRoot);
}
