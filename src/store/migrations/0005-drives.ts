/**
 * What is remembered of drives in Microsoft 365. All of it is working state: without it contents are downloaded once more,
 * changes are noticed by the timer, and a subscription is made anew.
 */
export const drives0005 = String.raw`
-- What a listed file was when its content was captured. Its content is not referenced by a foreign key: a TRUNCATE of
-- contents must be answered by the rule that refuses it.
create table drive_item (
  drive_id text collate "C" not null,
  path text collate "C" not null,
  item_id text collate "C" not null,
  e_tag text,
  c_tag text,
  size_bytes bigint not null,
  quick_xor_hash text,
  modified_at text,
  checksum text collate "C" not null,
  unverified boolean not null,
  captured_at timestamptz not null default clock_timestamp(),
  primary key (drive_id, path)
);

-- How far a drive's changes have been taken as hints: the service's link, as it gave it.
create table drive_cursor (
  drive_id text collate "C" primary key,
  link text not null,
  -- What the link was asked for with: another one makes it useless.
  made_with text not null,
  moved_at timestamptz not null default clock_timestamp()
);

-- The subscription to a drive's changes. The secret that comes with each notification is kept as its hash.
create table drive_subscription (
  drive_id text collate "C" primary key,
  -- Null while one is being made.
  subscription_id text unique,
  notification_url text not null,
  client_state_hash text collate "C" not null,
  expires_at timestamptz,
  -- When it is renewed: at half its life, or at once where the service asks for it.
  renew_at timestamptz,
  -- Who takes care of it now, and until when nobody else does.
  keeper text,
  kept_until timestamptz,
  notified_at timestamptz,
  constraint "a client state is known by its SHA-256" check (client_state_hash ~ '^[0-9a-f]{64}$')
);

-- What a daemon on a drive says of it with each heartbeat; null for a daemon on a folder.
alter table daemon add column drive jsonb;

grant select, insert, update, delete on drive_item, drive_cursor, drive_subscription to agent_knowledge_app;
grant select on drive_item, drive_cursor, drive_subscription to agent_knowledge_auditor;
`;
