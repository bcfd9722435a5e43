import type { Command } from 'commander';
import type { Cli } from './cli.ts';
import { addCommand, jsonOption, type JsonOption } from './options.ts';
import { printable } from './output/printable.ts';

/** `migrate`, by hand: for installations whose processes must not (`AGENT_KNOWLEDGE_MIGRATE=never`). */
export function addMigrate(program: Command, cli: Cli): void {
  addCommand(program, {
    use: 'migrate',
    about: "bring the database to this version's tables; safe to repeat, also by several at once",
    example: ['migrate', 'migrate --json'],
  })
    .addOption(jsonOption())
    .action((options: JsonOption) => migrate(cli, options));
}

async function migrate(cli: Cli, options: JsonOption): Promise<void> {
  const made = await cli.deps.runMigrate();
  const [adminKeyPath, earlierAdminKeyPath] = [made?.path ?? null, made?.earlierPath ?? null];
  if (options.json) return cli.printJson({ migrated: true, adminKeyPath, earlierAdminKeyPath });
  cli.print('The database has the tables of this version.');
  if (adminKeyPath !== null) cli.print(`An admin key was made: ${printable(adminKeyPath)}`);
  if (earlierAdminKeyPath !== null)
    cli.print(`The key that lay there before is now in ${printable(earlierAdminKeyPath)}`);
}
