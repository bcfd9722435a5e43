import { defineEntity, p } from '@mikro-orm/postgresql';
import type { DriveCondition } from '../core/daemon-condition.ts';
import type { Finding } from '../core/finding.ts';

/*
 * The tables of working state, which can be thrown away (`tables.ts` has the others, and the list of all).
 */

const stamp = () => p.datetime().nullable();

export const RefreshAttempt = defineEntity({
  name: 'RefreshAttempt',
  tableName: 'refresh_attempt',
  properties: {
    id: p.text().primary(),
    agent_key: p.text(),
    environment: p.text(),
    actor_id: p.bigint('number'),
    accept_shrink: p.boolean(),
    state: p.text(),
    daemon_id: p.text().nullable(),
    outcome: p.text().nullable(),
    reason: p.text().nullable(),
    message: p.text().nullable(),
    faults: p.json<Finding[]>().default('[]'),
    warnings: p.json<Finding[]>().default('[]'),
    matching_number: p.integer().nullable(),
    loaded_number: p.integer().nullable(),
    created_at: p.datetime().default('now'),
    finished_at: stamp(),
  },
});

export const SourceStatus = defineEntity({
  name: 'SourceStatus',
  tableName: 'source_status',
  properties: {
    agent_key: p.text().primary(),
    environment: p.text().primary(),
    watched: p.boolean(),
    state: p.text(),
    last_look_at: stamp(),
    last_success_at: stamp(),
    outcome: p.text().nullable(),
    reason: p.text().nullable(),
    message: p.text().nullable(),
    faults: p.json<Finding[]>().default('[]'),
    since: stamp(),
    failure_signature: p.text().nullable(),
  },
});

export const Daemon = defineEntity({
  name: 'Daemon',
  tableName: 'daemon',
  properties: {
    id: p.text().primary(),
    source_type: p.text(),
    environments: p.array(),
    resync_seconds: p.integer(),
    host: p.text(),
    process_id: p.integer(),
    root_state: p.text(),
    root_message: p.text().nullable(),
    watcher_state: p.text(),
    watcher_message: p.text().nullable(),
    registry_offered: p.text().nullable(),
    drive: p.json<DriveCondition>().nullable(),
    started_at: p.datetime().default('now'),
    beat_at: p.datetime().default('now'),
  },
});

export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_key',
  properties: {
    actor_id: p.bigint('number').primary(),
    mutation: p.text().primary(),
    key: p.text().primary(),
    request_hash: p.text(),
    reference: p.text(),
    created_at: p.datetime().default('now'),
  },
});

export const NoticeCursor = defineEntity({
  name: 'NoticeCursor',
  tableName: 'notice_cursor',
  properties: { id: p.boolean().primary().default(true), sequence: p.bigint('number') },
});

export const Notice = defineEntity({
  name: 'Notice',
  tableName: 'notice',
  properties: {
    id: p.text().primary(),
    type: p.text(),
    agent_key: p.text().nullable(),
    environment: p.text().nullable(),
    event_sequence: p.bigint('number').nullable(),
    body: p.text(),
    state: p.text().default('WAITING'),
    attempts: p.integer().default(0),
    due_at: p.datetime().default('now'),
    host: p.text().nullable(),
    last_error: p.text().nullable(),
    created_at: p.datetime().default('now'),
    finished_at: stamp(),
  },
});

export const StaleTold = defineEntity({
  name: 'StaleTold',
  tableName: 'stale_told',
  properties: {
    agent_key: p.text().primary(),
    environment: p.text().primary(),
    told_at: p.datetime().default('now'),
  },
});

export const DriveItem = defineEntity({
  name: 'DriveItem',
  tableName: 'drive_item',
  properties: {
    drive_id: p.text().primary(),
    path: p.text().primary(),
    item_id: p.text(),
    e_tag: p.text().nullable(),
    c_tag: p.text().nullable(),
    size_bytes: p.bigint('number'),
    quick_xor_hash: p.text().nullable(),
    modified_at: p.text().nullable(),
    checksum: p.text(),
    unverified: p.boolean(),
    captured_at: p.datetime().default('now'),
  },
});

export const DriveCursor = defineEntity({
  name: 'DriveCursor',
  tableName: 'drive_cursor',
  properties: {
    drive_id: p.text().primary(),
    link: p.text(),
    made_with: p.text(),
    moved_at: p.datetime().default('now'),
  },
});

export const DriveSubscription = defineEntity({
  name: 'DriveSubscription',
  tableName: 'drive_subscription',
  properties: {
    drive_id: p.text().primary(),
    subscription_id: p.text().nullable(),
    notification_url: p.text(),
    client_state_hash: p.text(),
    expires_at: stamp(),
    renew_at: stamp(),
    keeper: p.text().nullable(),
    kept_until: stamp(),
    notified_at: stamp(),
  },
});
