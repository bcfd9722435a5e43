import type { Check } from '../../core/check.ts';
import { describeDatabase } from '../../store/database-place.ts';
import { Database } from '../../store/database.ts';
import { isMigrated } from '../../store/migrate.ts';
import { readServerFacts, type ServerFacts } from '../../store/server-facts.ts';
import type { Policy } from '../context.ts';
import { readReadinessFaults } from '../read-readiness.ts';
import {
  checkContent,
  checkMigrated,
  checkNoDatabase,
  checkRules,
  checkServer,
  checkUnknownDatabase,
  checkUnreachable,
  maySwitchRole,
} from './database.ts';
import { readKnown, type Known } from './known.ts';
import { notChecked } from './told.ts';

export interface DatabasePorts {
  readonly clock: () => Date;
  readonly policy: Policy;
  readonly dataDir: string;
  /** The URL of the pools: the one that is set, or that of the embedded server; null where none of it answers. */
  readonly findDatabase: () => Promise<string | null>;
}

export interface DatabaseDiagnosis {
  readonly checks: readonly Check[];
  /** Null where the database could not be read. */
  readonly known: Known | null;
}

/** The database from the outside in, as far as each step lets the next one be taken. */
export async function diagnoseDatabase(ports: DatabasePorts): Promise<DatabaseDiagnosis> {
  let url: string | null;
  try {
    url = await ports.findDatabase();
  } catch (error) {
    return { checks: [checkUnknownDatabase(error)], known: null };
  }
  if (url === null) return { checks: [checkNoDatabase(ports.dataDir)], known: null };
  const place = describeDatabase(url);
  let facts: ServerFacts;
  try {
    facts = await readServerFacts(url, ports.clock);
  } catch (error) {
    return { checks: [checkUnreachable(place, error)], known: null };
  }
  const checks = checkServer(place, facts);
  if (!maySwitchRole(facts)) return { checks, known: null };
  try {
    return await diagnoseTables(url, ports.policy, checks);
  } catch (error) {
    return { checks: [...checks, notChecked('database', error)], known: null };
  }
}

async function diagnoseTables(
  url: string,
  policy: Policy,
  checks: readonly Check[],
): Promise<DatabaseDiagnosis> {
  const migrated = checkMigrated(await isMigrated(url));
  if (migrated.state !== 'ok') return { checks: [...checks, migrated], known: null };
  await using database = await Database.open({ url, maxConnections: 2 });
  const rules = checkRules(await database.faults());
  const known = await readKnown(database, policy);
  const isServing = known.packages.some(({ row }) => row.activeNumber !== null);
  const content = isServing ? checkContent(await readReadinessFaults({ database })) : [];
  return { checks: [...checks, migrated, ...rules, ...content], known };
}
