import { KnowledgeError } from '../core/errors.ts';
import { parseScopes, scopes, type Scope } from '../core/permissions.ts';
import { quote } from '../core/quote.ts';
import type { Policy } from './context.ts';
import { resolveEnvironment } from './names.ts';

/** What a key or a browser's session is to be allowed, as somebody asked for it. */
export interface GrantRequest {
  /** Words of `scopes`, or the contract's `numu:write` and `numu:full`. */
  readonly scopes: readonly string[];
  /** Null: every agent. */
  readonly agents: readonly string[] | null;
  /** Null: every environment. */
  readonly environments: readonly string[] | null;
}

/** Throws `NOT_FOUND` or `BAD_USER_INPUT` where a grant is bound to what cannot be: it would open nothing. */
export function assertBounds(policy: Policy, { agents, environments }: GrantRequest): void {
  for (const environment of environments ?? []) resolveEnvironment(policy, environment);
  const misspelt = agents?.find((agent) => !/^[a-z][a-z0-9_]{0,62}$/.test(agent));
  if (misspelt === undefined) return;
  throw new KnowledgeError(
    'BAD_USER_INPUT',
    `agents must be agent keys, like intake_triage; found ${quote(misspelt)}.`,
  );
}

/** The scopes that are granted; throws `BAD_USER_INPUT` where there is none or a word is none. */
export function grantedScopes({ scopes: words }: Pick<GrantRequest, 'scopes'>): readonly Scope[] {
  const granted = parseScopes(words);
  if (granted !== null && granted.length > 0) return granted;
  throw new KnowledgeError(
    'BAD_USER_INPUT',
    `scopes must be some of ${scopes.join(', ')}; found ${words.join(', ')}.`,
  );
}
