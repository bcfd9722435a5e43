import { defineEntity, p } from '@mikro-orm/postgresql';
import type { Finding } from '../core/finding.ts';
import {
  Daemon,
  IdempotencyKey,
  Notice,
  NoticeCursor,
  RefreshAttempt,
  SourceStatus,
  DriveCursor,
  DriveItem,
  DriveSubscription,
  StaleTold,
} from './working-tables.ts';

/*
 * The tables of schema `agent_knowledge`, for the type checker and the query builder. The migrations are the truth
 * about constraints, triggers and grants, which no entity definition can say (ARCHITECTURE.md, "Tables").
 *
 * Facts are append-only; references are one row that moves; working state, in `working-tables.ts`, can be thrown away.
 */

const stamp = () => p.datetime().nullable();

// --- facts --------------------------------------------------------------------------------------------------------

export const Blob = defineEntity({
  name: 'Blob',
  tableName: 'blob',
  properties: {
    checksum: p.text().primary(),
    content: p.blob(),
    size_bytes: p.integer().default(0),
  },
});

export const RegistrySnapshot = defineEntity({
  name: 'RegistrySnapshot',
  tableName: 'registry_snapshot',
  properties: {
    checksum: p.text().primary(),
    content: p.blob(),
    registry_version: p.text(),
    accepted_at: p.datetime().default('now'),
    accepted_by: p.bigint('number'),
  },
});

export const PackageVersion = defineEntity({
  name: 'PackageVersion',
  tableName: 'package_version',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    agent_key: p.text(),
    environment: p.text(),
    number: p.integer(),
    checksum: p.text(),
    agent_code: p.text(),
    stage: p.text(),
    package_version: p.text(),
    registry_version: p.text(),
    registry_checksum: p.text(),
    file_count: p.integer(),
    total_size_bytes: p.integer(),
    source_type: p.text(),
    ticket: p.bigint('number').nullable(),
    promoted_from: p.bigint('number').nullable(),
    loaded_at: p.datetime().default('now'),
    loaded_by: p.bigint('number'),
    warnings: p.json<Finding[]>(),
  },
});

export const VersionFile = defineEntity({
  name: 'VersionFile',
  tableName: 'version_file',
  properties: {
    version_id: p.bigint('number').primary(),
    load_order: p.integer().primary(),
    relative_path: p.text(),
    required: p.boolean(),
    checksum: p.text(),
    size_bytes: p.integer(),
  },
});

export const KnowledgeEvent = defineEntity({
  name: 'KnowledgeEvent',
  tableName: 'knowledge_event',
  properties: {
    epoch: p.integer().primary().default(0),
    sequence: p.bigint('number').primary().default(0),
    at_micros: p.bigint('number').default(0),
    actor_id: p.bigint('number'),
    actor_ref: p.text().default(''),
    action: p.text(),
    agent_key: p.text().nullable(),
    environment: p.text().nullable(),
    subject: p.text().nullable(),
    details: p.text(),
    previous_hash: p.text().default(''),
    hash: p.text().default(''),
  },
});

// --- references ---------------------------------------------------------------------------------------------------

export const Package = defineEntity({
  name: 'Package',
  tableName: 'package',
  properties: {
    agent_key: p.text().primary(),
    environment: p.text().primary(),
    next_number: p.integer().default(1),
    active_number: p.integer().nullable(),
    generation: p.bigint('number').default(0),
    last_ticket: p.bigint('number').default(0),
    hold_cause: p.text().nullable(),
    hold_actor_id: p.bigint('number').nullable(),
    hold_at: stamp(),
    hold_reason_hash: p.text().nullable(),
    agent_code: p.text(),
    stage: p.text(),
    package_version: p.text(),
    registry_version: p.text(),
    enabled: p.boolean(),
    listed: p.boolean(),
  },
});

export const RegistryState = defineEntity({
  name: 'RegistryState',
  tableName: 'registry_state',
  properties: {
    id: p.boolean().primary().default(true),
    checksum: p.text().nullable(),
    rejected_checksum: p.text().nullable(),
    faults: p.json<Finding[]>(),
    warnings: p.json<Finding[]>(),
    changed_at: p.datetime().default('now'),
  },
});

export const Actor = defineEntity({
  name: 'Actor',
  tableName: 'actor',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    kind: p.text(),
  },
});

export const ActorName = defineEntity({
  name: 'ActorName',
  tableName: 'actor_name',
  properties: { actor_id: p.bigint('number').primary(), name: p.text() },
});

export const Remark = defineEntity({
  name: 'Remark',
  tableName: 'remark',
  properties: { hash: p.text().primary(), body: p.text() },
});

export const ApiKey = defineEntity({
  name: 'ApiKey',
  tableName: 'api_key',
  properties: {
    actor_id: p.bigint('number').primary(),
    key_id: p.text(),
    secret_hash: p.text(),
    scopes: p.array(),
    agents: p.array().nullable(),
    environments: p.array().nullable(),
    created_at: p.datetime().default('now'),
    expires_at: stamp(),
    revoked_at: stamp(),
    last_used_at: stamp(),
  },
});

export const BrowserSession = defineEntity({
  name: 'BrowserSession',
  tableName: 'browser_session',
  properties: {
    session_id: p.text().primary(),
    actor_id: p.bigint('number'),
    scopes: p.array(),
    agents: p.array().nullable(),
    environments: p.array().nullable(),
    created_at: p.datetime().default('now'),
    code_hash: p.text(),
    code_expires_at: p.datetime(),
    secret_hash: p.text().nullable(),
    signed_in_at: stamp(),
    expires_at: stamp(),
    revoked_at: stamp(),
    last_used_at: stamp(),
  },
});

export const tables = [
  Blob,
  RegistrySnapshot,
  PackageVersion,
  VersionFile,
  KnowledgeEvent,
  Package,
  RegistryState,
  Actor,
  ActorName,
  Remark,
  ApiKey,
  BrowserSession,
  RefreshAttempt,
  SourceStatus,
  Daemon,
  IdempotencyKey,
  NoticeCursor,
  Notice,
  DriveCursor,
  DriveItem,
  DriveSubscription,
  StaleTold,
] as const;
