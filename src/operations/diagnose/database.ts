import { messageOf } from '../../core/errors.ts';
import { fine, trouble, warn, type Advice, type Check } from '../../core/check.ts';
import { sqlState } from '../../store/database-errors.ts';
import { whyUnreachable } from '../../store/database-place.ts';
import { oldestServer, type ServerFacts } from '../../store/server-facts.ts';
import { isNotPermitted, sentence, wordsOf } from './told.ts';

const area = 'database';

/** Beyond this a person comparing times is misled; nothing is decided by comparing two clocks. */
const maxClockDifferenceMs = 2000;

/** Why the server does not answer, and who mends it. */
export function checkUnreachable(place: string, error: unknown): Check {
  const state = sqlState(error);
  const message = messageOf(error);
  const known = whyUnreachable(state);
  const why = known ?? `it does not answer (${message})`;
  // The system's words are about the way there, SQLSTATEs about what the server said.
  const who = known !== null && state.startsWith('E') ? 'operator' : 'database_administrator';
  const fix =
    who === 'operator'
      ? 'Start the server, or correct AGENT_KNOWLEDGE_DATABASE_URL.'
      : 'Let this login in, or make the database; then run "npx agent-knowledge migrate".';
  return trouble(
    { area, name: 'unreachable', found: `${place}: ${why}.` },
    { meaning: nothingServed, fix, who },
  );
}

const nothingServed = 'Nothing is served and nothing is stored.';

/** No database is named, and none of our own answers. */
export function checkNoDatabase(dataDir: string): Check {
  const found = `AGENT_KNOWLEDGE_DATABASE_URL is not set, and no embedded PostgreSQL answers for ${dataDir}.`;
  const fix =
    'If "npm start" runs, it is bringing it back, and its terminal says why that does not succeed. Else run it, or set AGENT_KNOWLEDGE_DATABASE_URL.';
  return trouble({ area, name: 'no_database', found }, { meaning: nothingServed, fix, who: 'operator' });
}

/** Where the embedded database is cannot be read. */
export function checkUnknownDatabase(error: unknown): Check {
  const fix = isNotPermitted(error)
    ? 'Run this as the user of "npm start": only that user may read the file, since it holds passwords.'
    : 'Bring the file back as the message says, or set AGENT_KNOWLEDGE_DATABASE_URL.';
  const meaning = 'Whether the database runs is not known.';
  return trouble({ area, name: 'no_database', found: wordsOf(error) }, { meaning, fix, who: 'operator' });
}

/** The server itself and what this login may do there. */
export function checkServer(place: string, facts: ServerFacts): Check[] {
  const { version, versionNumber, encoding, isStandby, clockAheadMs } = facts;
  const found = `${place} answers: PostgreSQL ${version}, ${encoding}, clock ${Math.abs(clockAheadMs)} ms apart.`;
  const checks = [fine({ area, name: 'server', found })];
  if (versionNumber < oldestServer)
    return [trouble({ area, name: 'server_too_old', found: `${place} is PostgreSQL ${version}.` }, tooOld)];
  if (encoding !== 'UTF8')
    checks.push(
      trouble({ area, name: 'encoding', found: `The database is encoded in ${encoding}.` }, notUtf8),
    );
  if (isStandby) checks.push(trouble({ area, name: 'standby', found: 'The server is a standby.' }, standby));
  if (Math.abs(clockAheadMs) > maxClockDifferenceMs) checks.push(clockCheck(clockAheadMs));
  return [...checks, ...checkLogin(facts)];
}

/** Whether the pools can act as the role that owns nothing, so that there is more to ask. */
export function maySwitchRole({ versionNumber, missingRoles, deniedRoles }: ServerFacts): boolean {
  return versionNumber >= oldestServer && missingRoles.length === 0 && deniedRoles.length === 0;
}

function checkLogin({ login, loginIsSuperuser, missingRoles, deniedRoles }: ServerFacts): Check[] {
  if (missingRoles.length > 0)
    return [
      trouble(
        { area, name: 'roles_missing', found: `The server has no role ${missingRoles.join(', ')}.` },
        migrate,
      ),
    ];
  const denied = deniedRoles.map((role) =>
    trouble(
      { area, name: 'role_denied', found: `The login ${login} may not act as ${role}.` },
      {
        meaning: 'The pools cannot switch to the role that owns nothing, so nothing starts.',
        fix: `Run "grant ${role} to ${login} with set true, inherit false", or the migration with this login's URL.`,
        who: 'database_administrator',
      },
    ),
  );
  const found = `The login ${login} is a superuser.`;
  return loginIsSuperuser
    ? [...denied, warn({ area, name: 'login_is_superuser', found }, superuser)]
    : denied;
}

function clockCheck(aheadMs: number): Check {
  const seconds = Math.round(Math.abs(aheadMs) / 1000);
  const found = `The server's clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine's.`;
  return warn({ area, name: 'clock_differs', found }, clocks);
}

/** Whether it has this version's tables. */
export function checkMigrated(isMigrated: boolean): Check {
  return isMigrated
    ? fine({ area, name: 'migrated', found: 'It has the tables of this version.' })
    : trouble({ area, name: 'not_migrated', found: "It does not have this version's tables." }, migrate);
}

/** Rights, append-only rules and durability, in the words of the start. */
export function checkRules(faults: readonly string[]): Check[] {
  if (faults.length === 0)
    return [
      fine({
        area,
        name: 'rules',
        found: 'Its append-only rules are on, and acknowledged writes are durable.',
      }),
    ];
  return faults.map((fault) => trouble({ area, name: 'rule_off', found: `${sentence(fault)}.` }, ruleOff));
}

/** Whether knowledge that is stored comes back as it was stored. */
export function checkContent(faults: readonly string[]): Check[] {
  return faults.map((found) => trouble({ area, name: 'content_differs', found }, restore));
}

const tooOld: Advice = {
  meaning: 'The start refuses it.',
  fix: 'Move the database to PostgreSQL 17 or newer.',
  who: 'database_administrator',
};
const notUtf8: Advice = {
  meaning: 'The migration refuses it.',
  fix: "Create the database anew with ENCODING 'UTF8'.",
  who: 'database_administrator',
};
const standby: Advice = {
  meaning: 'A standby can lag behind; pointers are read from the primary only.',
  fix: 'Name the primary in AGENT_KNOWLEDGE_DATABASE_URL.',
  who: 'operator',
};
const migrate: Advice = {
  meaning: nothingServed,
  fix: 'Run "npx agent-knowledge migrate".',
  who: 'operator',
};
const superuser: Advice = {
  meaning: 'The pools switch to a role that owns nothing, but whoever has this URL can rewrite facts.',
  fix: 'Give AGENT_KNOWLEDGE_DATABASE_URL a login of its own, and keep this one for AGENT_KNOWLEDGE_DATABASE_ADMIN_URL.',
  who: 'database_administrator',
};
const clocks: Advice = {
  meaning: 'Times in logs, events and expiry dates do not fit together.',
  fix: 'Let both machines keep their clock by NTP.',
  who: 'operator',
};
const ruleOff: Advice = {
  meaning: 'A version that was acknowledged could be lost or rewritten.',
  fix: 'Undo what switched it off, as docs/production.md says; find out who did, and what was changed meanwhile.',
  who: 'database_administrator',
};
const restore: Advice = {
  meaning: 'A stored file is not what it was.',
  fix: 'Stop writing, look after the disk, and restore from a backup.',
  who: 'database_administrator',
};
