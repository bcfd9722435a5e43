import { fine, trouble, warn, type Advice, type Check } from '../../core/check.ts';
import type { DriveSurvey, TokenFacts } from '../../core/drive-survey.ts';

const area = 'drive';

/** Each of them lets an account read a drive; the last ones only where they were granted on a site, a list or a file. */
const reading =
  /^(?:Files\.Read|Files\.Read\.All|Sites\.Read\.All|Files\.Read\.Selected|(?:Sites|Lists\.SelectedOperations|ListItems\.SelectedOperations|Files\.SelectedOperations)\.Selected)$/;

/** More than reading. */
const writing =
  /^(?:Files\.ReadWrite(?:\.All|\.AppFolder|\.Selected)?|Sites\.(?:ReadWrite|Manage|FullControl)\.All)$/;

/** What is left of a token's life, below which a person who tries things should know. */
const soonMs = 10 * 60_000;

/** Which permissions the token carries: enough to read, and no more than that. */
export function checkPermissions(facts: TokenFacts, survey: DriveSurvey): Check[] {
  if (!facts.isReadable) {
    const found = 'The token is readable for the service alone, so its permissions are not known here.';
    return [fine({ area, name: 'permissions', found })];
  }
  const { permissions } = facts;
  const found =
    permissions.length === 0
      ? 'The token names no permission.'
      : `The token carries ${permissions.join(', ')}.`;
  const tooMuch = permissions.filter((name) => writing.test(name));
  if (tooMuch.length > 0) return [warn({ area, name: 'may_write', found }, mayWrite)];
  const mayRead = permissions.some((name) => reading.test(name));
  // What the drive answers says more than names that Microsoft adds to.
  if (mayRead || survey.root.state === 'answered') return [fine({ area, name: 'permissions', found })];
  return [trouble({ area, name: 'no_permission', found }, noPermission)];
}

/** Whether the token lives, and for how long where nobody can renew it. */
export function checkToken(
  facts: TokenFacts,
  input: { readonly isReady: boolean; readonly now: Date },
): Check {
  const { expiresAt } = facts;
  const origin = input.isReady ? 'The ready token of the settings is used' : 'A token was given';
  if (expiresAt === null) return fine({ area, name: 'token', found: `${origin}.` });
  const found = `${origin}; it is good until ${expiresAt.toISOString()}.`;
  const leftMs = expiresAt.getTime() - input.now.getTime();
  if (!input.isReady || leftMs > soonMs) return fine({ area, name: 'token', found });
  const isOver = leftMs <= 0;
  const ended = `${origin}; it ended at ${expiresAt.toISOString()}.`;
  return isOver
    ? trouble({ area, name: 'token_expired', found: ended }, readyToken)
    : warn({ area, name: 'token_expires', found }, readyToken);
}

const readyToken: Advice = {
  meaning: 'A ready token is for trying: nobody renews it, and the source stops with it.',
  fix: 'Get a new one; for longer, unset AGENT_KNOWLEDGE_GRAPH_TOKEN and register an application (docs/sharepoint.md).',
  who: 'operator',
};

const mayWrite: Advice = {
  meaning: 'Nothing is ever written, so whoever takes the credentials gets more than this needs.',
  fix: 'Take the writing permissions from the application; Sites.Selected with a read grant on the one site is enough.',
  who: 'm365_administrator',
};

const noPermission: Advice = {
  meaning: 'No drive can be read with it.',
  fix: 'Give the application Sites.Selected with a read grant on the site, or Files.Read.All, and consent to it as administrator (docs/sharepoint.md).',
  who: 'm365_administrator',
};
