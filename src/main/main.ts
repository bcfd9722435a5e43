import { SettingsError } from '../../config/settings.ts';
import { KnowledgeError } from '../core/errors.ts';
import { readSettings } from './environment.ts';
import { runDaemon } from './run-daemon.ts';
import { runStart } from './run-start.ts';
import { migrateCommand } from './setup-database.ts';

const commands = { start: runStart, daemon: runDaemon, migrate: migrateCommand };

try {
  const command = commands[process.argv[2] as keyof typeof commands];
  await command(readSettings());
} catch (error) {
  console.error(error instanceof SettingsError || error instanceof KnowledgeError ? error.message : error);
  process.exitCode = 1;
}
if (process.connected) process.disconnect();
