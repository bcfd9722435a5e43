import { KnowledgeError } from './errors.ts';

/** What a key may do; `admin` includes every other one. */
export const scopes = [
  'knowledge:read',
  'runs:write',
  'ai.knowledge.refresh',
  'ai.knowledge.rollback',
  'admin',
] as const;
export type Scope = (typeof scopes)[number];

/** The contract's names for "may read and record" (K-025). */
const scopeAliases: ReadonlyMap<string, readonly Scope[]> = new Map([
  ['numu:write', ['knowledge:read', 'runs:write']],
  ['numu:full', ['knowledge:read', 'runs:write']],
]);

/** The scopes that the given words stand for, aliases resolved; null when a word is no scope. */
export function parseScopes(words: readonly string[]): readonly Scope[] | null {
  const found: Scope[] = [];
  for (const word of words) {
    const named = scopeAliases.get(word) ?? scopes.filter((scope) => scope === word);
    if (named.length === 0) return null;
    found.push(...named);
  }
  return [...new Set(found)];
}

/** What a caller has shown and can lose: a key or a browser's session, by its public id. */
export interface Credential {
  readonly kind: 'key' | 'session';
  readonly id: string;
}

/** Who acts: made from a credential only, never from an argument (T19). */
export interface Caller {
  /** Row id of the actor; what facts refer to. */
  readonly actorId: number;
  readonly kind: 'key' | 'daemon' | 'cli' | 'local' | 'system' | 'browser';
  /** Null where nothing is shown that could end: the command line, the daemon, a server without authentication. */
  readonly credential: Credential | null;
  readonly scopes: ReadonlySet<Scope>;
  /** Agent keys the credential is bound to; null: all. */
  readonly agents: ReadonlySet<string> | null;
  /** Environments the credential is bound to; null: all. */
  readonly environments: ReadonlySet<string> | null;
}

export function hasScope(caller: Caller, scope: Scope): boolean {
  return caller.scopes.has(scope) || caller.scopes.has('admin');
}

/** Whether the caller may know that this package exists. */
export function canSee(caller: Caller, agentKey: string, environment: string): boolean {
  return (
    (caller.agents === null || caller.agents.has(agentKey)) &&
    (caller.environments === null || caller.environments.has(environment))
  );
}

/** Default deny: throws `FORBIDDEN` naming the scope that is missing (G17). */
export function requireScope(caller: Caller, scope: Scope): void {
  if (hasScope(caller, scope)) return;
  throw new KnowledgeError('FORBIDDEN', `This needs the scope ${scope}; the key does not carry it.`);
}

/** What a key may not see does not exist for it: the words of an unknown package (T22, G17). */
export function packageNotFound(agentKey: string, environment: string): KnowledgeError {
  const agent = JSON.stringify(agentKey.slice(0, 80));
  return new KnowledgeError(
    'NOT_FOUND',
    `No agent ${agent} in environment ${JSON.stringify(environment.slice(0, 40))}.`,
  );
}
