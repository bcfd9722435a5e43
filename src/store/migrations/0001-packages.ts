/**
 * The first schema: everything that makes a version a version. It runs as `agent_knowledge_owner`, which nobody logs
 * in as, so that the application owns nothing (`reliability.md` 3.2: G1, G2, G3, G14).
 *
 * Names of constraints are sentences: they are what an administrator reads when one is broken.
 */
export const packages0001 = String.raw`
-- ---------------------------------------------------------------------------------------------- actors and remarks

create table actor (
  id bigint generated always as identity primary key,
  kind text not null,
  created_at timestamptz not null default clock_timestamp(),
  constraint "an actor is of a known kind" check (kind in ('key', 'daemon', 'cli', 'local', 'system'))
);

-- Names and free-text reasons may be personal data, so they live in rows that can be erased; facts hold ids and hashes.
create table actor_name (
  actor_id bigint primary key references actor,
  name text not null
);
create table remark (
  hash text primary key,
  body text not null,
  constraint "a remark is keyed by its own SHA-256" check (hash = encode(sha256(convert_to(body, 'UTF8')), 'hex'))
);

create table api_key (
  actor_id bigint primary key references actor,
  key_id text not null unique,
  secret_hash text not null,
  scopes text[] not null,
  agents text[],
  environments text[],
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz
);

-- ------------------------------------------------------------------------------------------------- facts: registry

create table registry_snapshot (
  checksum text primary key,
  content bytea not null,
  registry_version text not null,
  accepted_at timestamptz not null default clock_timestamp(),
  accepted_by bigint not null references actor,
  constraint "a registry is keyed by its own SHA-256" check (checksum = encode(sha256(content), 'hex'))
);

create table registry_state (
  id boolean primary key default true,
  checksum text references registry_snapshot,
  rejected_checksum text,
  faults jsonb not null default '[]',
  warnings jsonb not null default '[]',
  changed_at timestamptz not null default clock_timestamp(),
  constraint "there is one registry" check (id)
);
insert into registry_state default values;

-- ------------------------------------------------------------------------------- reference: one package, one pointer

-- Agent key and environment are compared as bytes wherever they stand: a join between two collations uses no index.
create table package (
  agent_key text collate "C" not null,
  environment text collate "C" not null,
  next_number integer not null default 1,
  active_number integer,
  generation bigint not null default 0,
  last_ticket bigint not null default 0,
  hold_cause text,
  hold_actor_id bigint references actor,
  hold_at timestamptz,
  hold_reason_hash text,
  agent_code text not null,
  stage text not null,
  package_version text not null,
  registry_version text not null,
  enabled boolean not null,
  listed boolean not null,
  primary key (agent_key, environment),
  constraint "an agent key is a plain slug" check (agent_key ~ '^[a-z][a-z0-9_]{0,62}$'),
  constraint "an environment is a plain name" check (environment ~ '^[a-z][a-z0-9-]{0,30}$'),
  constraint "a hold has a known cause" check (hold_cause in ('OPERATOR', 'SHRANK', 'RATE')),
  constraint "a hold is whole" check (num_nulls(hold_cause, hold_actor_id, hold_at, hold_reason_hash) in (0, 4))
);

-- ------------------------------------------------------------------------------------------- facts: blobs and versions

create table blob (
  checksum text collate "C" primary key,
  content bytea not null,
  size_bytes integer generated always as (octet_length(content)) stored,
  constraint "a blob is keyed by its own SHA-256" check (checksum = encode(sha256(content), 'hex')),
  constraint "a blob is at most 16 MiB" check (octet_length(content) <= 16777216)
);

create table package_version (
  id bigint generated always as identity primary key,
  agent_key text collate "C" not null,
  environment text collate "C" not null,
  number integer not null,
  checksum text not null,
  agent_code text not null,
  stage text not null,
  package_version text not null,
  registry_version text not null,
  registry_checksum text not null references registry_snapshot,
  file_count integer not null,
  total_size_bytes integer not null,
  source_type text not null,
  ticket bigint,
  promoted_from bigint references package_version,
  loaded_at timestamptz not null default clock_timestamp(),
  loaded_by bigint not null references actor,
  warnings jsonb not null default '[]',
  transaction_id xid8 not null default pg_current_xact_id(),
  foreign key (agent_key, environment) references package,
  -- K-065: no number twice in one agent's environment.
  constraint "a number is given once" unique (agent_key, environment, number),
  constraint "a source type is known" check (source_type in ('local', 'graph')),
  constraint "a version came from a look or from another version" check (num_nonnulls(ticket, promoted_from) = 1)
);
create index package_version_by_checksum on package_version (checksum);
create index package_version_by_registry on package_version (registry_checksum);

create table version_file (
  version_id bigint not null references package_version,
  load_order integer not null,
  relative_path text not null,
  required boolean not null,
  checksum text collate "C" not null references blob,
  size_bytes integer not null,
  primary key (version_id, load_order),
  constraint "a path is listed once in a version" unique (version_id, relative_path),
  constraint "a load order is not negative" check (load_order >= 0),
  constraint "a path keeps the checksum text readable" check (relative_path !~ '[\x01-\x1f\x7f\\]' and relative_path <> '')
);
create index version_file_by_checksum on version_file (checksum);
create index version_file_by_path on version_file (relative_path);

-- K-066, K-068: activating is moving one reference, and it can only name a version of the same package.
alter table package add constraint "the pointer names a version of this package"
  foreign key (agent_key, environment, active_number)
  references package_version (agent_key, environment, number)
  deferrable initially deferred;

-- ------------------------------------------------------------------------------------------------------- facts: events

create table knowledge_event (
  epoch integer not null,
  sequence bigint not null,
  at_micros bigint not null,
  actor_id bigint not null references actor,
  actor_ref text not null,
  action text not null,
  agent_key text collate "C",
  environment text collate "C",
  subject text,
  details text not null,
  previous_hash text not null,
  hash text not null,
  transaction_id xid8 not null,
  primary key (epoch, sequence),
  constraint "a sequence is given once" unique (sequence),
  constraint "an action is known" check (action in (
    'agent.knowledge_loaded', 'agent.knowledge_unchanged', 'agent.knowledge_failed',
    'agent.knowledge_validation_failed', 'agent.knowledge_rollback', 'agent.knowledge_held',
    'agent.knowledge_released', 'agent.registry_changed', 'agent.registry_rejected', 'agent.source_lost',
    'agent.source_returned', 'agent.run_mismatch', 'key.created', 'key.revoked', 'log.epoch_opened')),
  constraint "details are a JSON object" check (details is json object with unique keys),
  constraint "an event is about a package or about none" check (num_nulls(agent_key, environment) in (0, 2))
);
create index knowledge_event_by_package on knowledge_event (agent_key, environment, sequence desc);
create index knowledge_event_by_agent on knowledge_event (agent_key, sequence desc);
create index knowledge_event_by_action on knowledge_event (action, sequence desc);
-- For the rule that a pointer move has an event: without it every move would read the package's whole log.
create index knowledge_event_by_transaction on knowledge_event (transaction_id);

-- The head of the chain. Its row lock is the log's one small lock, taken last and held to commit, so that sequences
-- become visible in order and a reader's cursor loses nothing (G13).
create table event_head (
  id boolean primary key default true,
  epoch integer not null default 1,
  sequence bigint not null default 0,
  hash text not null default repeat('0', 64),
  constraint "there is one head" check (id)
);
insert into event_head default values;

-- Length-prefixed, so that no two rows share a text; absent is all ones. A verifier needs no PostgreSQL for it.
create function event_field(value text) returns bytea language sql immutable parallel safe as $$
  select case when value is null then '\xffffffff'::bytea
    else int4send(octet_length(convert_to(value, 'UTF8'))) || convert_to(value, 'UTF8') end
$$;

create function event_append() returns trigger language plpgsql security definer
set search_path = agent_knowledge, pg_temp as $$
declare
  head event_head;
begin
  select * into strict head from event_head where id for update;
  new.epoch := head.epoch;
  new.sequence := head.sequence + 1;
  new.previous_hash := head.hash;
  new.at_micros := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
  new.transaction_id := pg_current_xact_id();
  select kind || ':' || id into strict new.actor_ref from actor where id = new.actor_id;
  new.hash := encode(sha256('\x01'::bytea
    || event_field(new.epoch::text) || event_field(new.sequence::text) || event_field(new.previous_hash)
    || event_field(new.at_micros::text) || event_field(new.actor_ref) || event_field(new.action)
    || event_field(new.agent_key) || event_field(new.environment) || event_field(new.subject)
    || event_field(new.details)), 'hex');
  update event_head set sequence = new.sequence, hash = new.hash where id;
  return new;
end $$;
create trigger event_append before insert on knowledge_event for each row execute function event_append();

-- ------------------------------------------------------------------------------------------------ rules: the package

create function package_insert() returns trigger language plpgsql as $$
begin
  if new.next_number <> 1 or new.active_number is not null or new.generation <> 0 or new.last_ticket <> 0 then
    raise exception 'A new package starts with number 1, no active version, generation 0 and ticket 0.'
      using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger package_insert before insert on package for each row execute function package_insert();

create function package_update() returns trigger language plpgsql as $$
begin
  if (new.agent_key, new.environment) is distinct from (old.agent_key, old.environment) then
    raise exception 'A package keeps its agent key and environment.' using errcode = 'check_violation';
  end if;
  -- K-062: a counter that could go back would give a number twice.
  if new.next_number < old.next_number or new.next_number > old.next_number + 1 then
    raise exception 'Version numbers are given one by one and never reused: next_number % cannot become %.',
      old.next_number, new.next_number using errcode = 'check_violation';
  end if;
  if old.active_number is not null and new.active_number is null then
    raise exception 'A package that has had an active version always has one.' using errcode = 'check_violation';
  end if;
  if new.last_ticket < old.last_ticket then
    raise exception 'A look older than the last finished one writes nothing: ticket % after %.',
      new.last_ticket, old.last_ticket using errcode = 'check_violation';
  end if;
  -- The generation is counted here and nowhere else, so that it grows with every move of the pointer and only then.
  new.generation := old.generation + (new.active_number is distinct from old.active_number)::integer;
  return new;
end $$;
create trigger package_update before update on package for each row execute function package_update();

create function package_delete() returns trigger language plpgsql as $$
begin
  raise exception 'A package is never deleted: its numbers must not be given out again.'
    using errcode = 'integrity_constraint_violation';
end $$;
create trigger package_delete before delete on package for each row execute function package_delete();
create trigger package_truncate before truncate on package for each statement execute function package_delete();

-- T18: whoever moves a pointer says so in the log, in the same transaction, or does not move it. The foreign key says
-- the rest; it is said again here, since a session in replica role passes foreign keys and not this.
create function package_pointer_has_event() returns trigger language plpgsql security definer
set search_path = agent_knowledge, pg_temp as $$
begin
  if not exists (
    select from knowledge_event e
    where e.agent_key = new.agent_key and e.environment = new.environment
      and e.transaction_id = pg_current_xact_id()
      and e.action in ('agent.knowledge_loaded', 'agent.knowledge_rollback')
  ) then
    raise exception 'The pointer of %/% was moved without an event in the same transaction.',
      new.agent_key, new.environment using errcode = 'integrity_constraint_violation';
  end if;
  if not exists (
    select from package_version v
    where v.agent_key = new.agent_key and v.environment = new.environment and v.number = new.active_number
  ) then
    raise exception 'The pointer of %/% names v%, which this package does not have.',
      new.agent_key, new.environment, new.active_number using errcode = 'foreign_key_violation';
  end if;
  return null;
end $$;
create constraint trigger package_pointer_has_event after update of active_number on package
  deferrable initially deferred for each row
  when (new.active_number is distinct from old.active_number)
  execute function package_pointer_has_event();

-- K-061: a number that is given out is used, by a version of the same transaction; else it would be a gap for ever.
create function package_number_is_used() returns trigger language plpgsql security definer
set search_path = agent_knowledge, pg_temp as $$
begin
  if not exists (
    select from package_version v
    where v.agent_key = new.agent_key and v.environment = new.environment and v.number = new.next_number - 1
  ) then
    raise exception 'v% of %/% was given out and not used.', new.next_number - 1, new.agent_key, new.environment
      using errcode = 'integrity_constraint_violation';
  end if;
  return null;
end $$;
create constraint trigger package_number_is_used after update of next_number on package
  deferrable initially deferred for each row
  when (new.next_number is distinct from old.next_number)
  execute function package_number_is_used();

-- ----------------------------------------------------------------------------------------------- rules: the versions

create function version_insert() returns trigger language plpgsql security definer
set search_path = agent_knowledge, pg_temp as $$
declare
  expected integer;
begin
  select next_number - 1 into expected from package
    where agent_key = new.agent_key and environment = new.environment;
  -- K-061: the number is the one the locked counter has just given out, in this order and no other.
  if expected is null or new.number is distinct from expected or new.number < 1 then
    raise exception 'Version %/% v% does not follow the counter, which has given out v%.',
      new.agent_key, new.environment, new.number, expected using errcode = 'integrity_constraint_violation';
  end if;
  new.loaded_at := clock_timestamp();
  new.transaction_id := pg_current_xact_id();
  return new;
end $$;
create trigger version_insert before insert on package_version for each row execute function version_insert();

create function assert_version_is_whole(v package_version) returns void language plpgsql as $$
declare
  actual record;
begin
  select count(*) as file_count, sum(f.size_bytes) as total,
    encode(sha256(convert_to(string_agg(f.checksum || '  ' || f.relative_path || E'\n', '' order by f.load_order), 'UTF8')), 'hex') as checksum,
    bool_and(f.size_bytes = b.size_bytes) as sizes_hold
  into actual from version_file f join blob b using (checksum) where f.version_id = v.id;
  if actual.file_count = 0 then
    raise exception 'Version %/% v% has no files.', v.agent_key, v.environment, v.number
      using errcode = 'integrity_constraint_violation';
  end if;
  -- IS DISTINCT FROM, since a null checksum would pass for equal.
  if actual.checksum is distinct from v.checksum or actual.file_count is distinct from v.file_count
    or actual.total is distinct from v.total_size_bytes or actual.sizes_hold is distinct from true then
    raise exception 'Version %/% v% says checksum %, % files, % bytes; its files give checksum %, % files, % bytes.',
      v.agent_key, v.environment, v.number, v.checksum, v.file_count, v.total_size_bytes,
      actual.checksum, actual.file_count, actual.total using errcode = 'integrity_constraint_violation';
  end if;
end $$;

create function version_is_whole() returns trigger language plpgsql security definer
set search_path = agent_knowledge, pg_temp as $$
begin
  perform assert_version_is_whole(new);
  return null;
end $$;
create constraint trigger version_is_whole after insert on package_version
  deferrable initially deferred for each row execute function version_is_whole();

-- The files of a version come in one statement of the transaction that made it; anything else is late, also after a
-- SET CONSTRAINTS that has already used up the deferred check above.
create function files_are_whole() returns trigger language plpgsql security definer
set search_path = agent_knowledge, pg_temp as $$
declare
  v package_version;
begin
  for v in select * from package_version where id in (select version_id from added) loop
    if v.transaction_id <> pg_current_xact_id() then
      raise exception 'Agent knowledge versions are immutable; %/% v% takes no more files.', v.agent_key, v.environment,
        v.number using errcode = 'integrity_constraint_violation';
    end if;
    perform assert_version_is_whole(v);
  end loop;
  return null;
end $$;
create trigger files_are_whole after insert on version_file referencing new table as added
  for each statement execute function files_are_whole();

-- K-071…K-073: the contract's two sentences, for every fact and every way to change one.
create function fact_is_immutable() returns trigger language plpgsql as $$
begin
  raise exception 'Agent knowledge versions are immutable; a row of % cannot be changed.', tg_table_name
    using errcode = 'integrity_constraint_violation';
end $$;
create function fact_is_append_only() returns trigger language plpgsql as $$
begin
  raise exception 'Agent knowledge versions are append-only and cannot be deleted.'
    using errcode = 'integrity_constraint_violation', detail = 'Table: ' || tg_table_name || '.';
end $$;

do $$
declare
  fact text;
begin
  foreach fact in array array['blob', 'package_version', 'version_file', 'knowledge_event', 'registry_snapshot'] loop
    execute format('create trigger %I before update on %I for each row execute function fact_is_immutable()', fact || '_is_immutable', fact);
    execute format('create trigger %I before delete on %I for each row execute function fact_is_append_only()', fact || '_is_append_only', fact);
    execute format('create trigger %I before truncate on %I for each statement execute function fact_is_append_only()', fact || '_is_kept', fact);
  end loop;
end $$;

-- ------------------------------------------------------------------------------------------------------ working state

create sequence look_ticket as bigint;

create table refresh_attempt (
  id text primary key,
  agent_key text collate "C" not null,
  environment text collate "C" not null,
  actor_id bigint not null references actor,
  accept_shrink boolean not null default false,
  state text not null default 'QUEUED',
  daemon_id text,
  outcome text,
  reason text,
  message text,
  faults jsonb not null default '[]',
  warnings jsonb not null default '[]',
  matching_number integer,
  loaded_number integer,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  foreign key (agent_key, environment) references package,
  constraint "an attempt is queued, running or done" check (state in ('QUEUED', 'RUNNING', 'DONE')),
  constraint "an attempt that is done has an outcome" check ((state = 'DONE') = (outcome is not null))
);
create index refresh_attempt_open on refresh_attempt (agent_key, environment) where state <> 'DONE';

create table source_status (
  agent_key text collate "C" not null,
  environment text collate "C" not null,
  watched boolean not null default false,
  state text not null default 'unknown',
  last_look_at timestamptz,
  last_success_at timestamptz,
  outcome text,
  reason text,
  message text,
  failure_signature text,
  primary key (agent_key, environment),
  foreign key (agent_key, environment) references package
) with (fillfactor = 70);

create table daemon (
  id text primary key,
  source_type text not null,
  environments text[] not null,
  resync_seconds integer not null,
  host text not null,
  process_id integer not null,
  root_state text not null,
  root_message text,
  watcher_state text not null,
  watcher_message text,
  registry_offered text,
  started_at timestamptz not null default clock_timestamp(),
  beat_at timestamptz not null default clock_timestamp()
);

create table idempotency_key (
  actor_id bigint not null references actor,
  mutation text not null,
  key text not null,
  request_hash text not null,
  reference text not null,
  created_at timestamptz not null default clock_timestamp(),
  primary key (actor_id, mutation, key)
);

-- ENABLE ALWAYS takes one trigger at a time; without it a session in replica role would pass them all.
do $$
declare
  rule record;
begin
  for rule in
    select t.tgname, c.relname from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = 'agent_knowledge'::regnamespace and not t.tgisinternal
  loop
    execute format('alter table %I enable always trigger %I', rule.relname, rule.tgname);
  end loop;
end $$;

-- ------------------------------------------------------------------------------------------------------------- grants

grant usage on schema agent_knowledge to agent_knowledge_app, agent_knowledge_auditor;
grant select on all tables in schema agent_knowledge to agent_knowledge_app;
grant usage on sequence look_ticket to agent_knowledge_app;

grant insert on blob, registry_snapshot, version_file, actor, actor_name, remark, api_key,
  refresh_attempt, source_status, daemon, idempotency_key to agent_knowledge_app;
grant insert (agent_key, environment, agent_code, stage, package_version, registry_version, enabled, listed)
  on package to agent_knowledge_app;
grant update (next_number, active_number, last_ticket, hold_cause, hold_actor_id, hold_at, hold_reason_hash,
  agent_code, stage, package_version, registry_version, enabled, listed) on package to agent_knowledge_app;
grant insert (agent_key, environment, number, checksum, agent_code, stage, package_version, registry_version,
  registry_checksum, file_count, total_size_bytes, source_type, ticket, promoted_from, loaded_by, warnings)
  on package_version to agent_knowledge_app;
grant insert (actor_id, action, agent_key, environment, subject, details) on knowledge_event to agent_knowledge_app;
grant update (checksum, rejected_checksum, faults, warnings, changed_at) on registry_state to agent_knowledge_app;
grant update (revoked_at, last_used_at) on api_key to agent_knowledge_app;
grant update, delete on actor_name, remark, refresh_attempt, source_status, daemon, idempotency_key to agent_knowledge_app;

grant select on blob, registry_snapshot, registry_state, package, package_version, version_file, knowledge_event,
  event_head, actor, actor_name, remark, refresh_attempt, source_status, daemon to agent_knowledge_auditor;

-- ------------------------------------------------------------------------------------------------------------ genesis

with system as (insert into actor (kind) values ('system') returning id),
  named as (insert into actor_name (actor_id, name) select id, 'agent-knowledge' from system)
insert into knowledge_event (actor_id, action, details) select id, 'log.epoch_opened', '{"epoch":1}' from system;
`;
