import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Finding } from './finding.ts';
import type { Sha256 } from './package.ts';

/** What the audit log can say (`interface.md` 6). */
export const eventActions = [
  'agent.knowledge_loaded',
  'agent.knowledge_unchanged',
  'agent.knowledge_failed',
  'agent.knowledge_validation_failed',
  'agent.knowledge_rollback',
  'agent.knowledge_held',
  'agent.knowledge_released',
  'agent.registry_changed',
  'agent.registry_rejected',
  'agent.source_lost',
  'agent.source_returned',
  'agent.run_mismatch',
  'key.created',
  'key.revoked',
  'log.epoch_opened',
] as const;
export type EventAction = (typeof eventActions)[number];

/** An event before the database gives it its place in the chain. */
export interface NewEvent {
  readonly actorId: number;
  readonly action: EventAction;
  readonly agentKey?: string;
  readonly environment?: string;
  /** What it is about: a version's name, a key's id, a registry's checksum. */
  readonly subject?: string;
  /** Facts for programs, stored as RFC 8785 text. Never content, an excerpt or a secret. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Details as they are stored and hashed: JSON in the one spelling of RFC 8785. */
export function detailsText(details: Readonly<Record<string, unknown>>): string {
  return canonicalize(details) as string;
}

/** Findings as an event may hold them: words and places, no sentence that could quote a file. */
export function findingFacts(
  findings: readonly Finding[],
): { code: string; path: string | null; line: number | null }[] {
  return findings.map((finding) => ({ code: finding.code, path: finding.relativePath, line: finding.line }));
}

/** Every field that an event's hash covers, as stored. */
export interface HashedEvent {
  readonly epoch: number;
  readonly sequence: number;
  readonly previousHash: string;
  /** Integer microseconds since 1970 UTC. */
  readonly timeMicros: string;
  readonly actorId: string;
  readonly action: string;
  readonly agentKey: string | null;
  readonly environment: string | null;
  readonly subject: string | null;
  readonly details: string;
}

/**
 * The hash that the database must have given this event: SHA-256 over the byte 0x01 and the length-prefixed fields, so
 * that anybody can check the chain without the database (G14).
 */
export function eventHash(event: HashedEvent): Sha256 {
  const fields = [
    String(event.epoch),
    String(event.sequence),
    event.previousHash,
    event.timeMicros,
    event.actorId,
    event.action,
    event.agentKey,
    event.environment,
    event.subject,
    event.details,
  ];
  const hash = createHash('sha256').update(Uint8Array.of(1));
  for (const field of fields) hash.update(eventField(field));
  return hash.digest('hex') as Sha256;
}

function eventField(value: string | null): Uint8Array {
  if (value === null) return Uint8Array.of(0xff, 0xff, 0xff, 0xff);
  const bytes = new TextEncoder().encode(value);
  const prefixed = new Uint8Array(4 + bytes.length);
  new DataView(prefixed.buffer).setUint32(0, bytes.length, false);
  prefixed.set(bytes, 4);
  return prefixed;
}
