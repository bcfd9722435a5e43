/**
 * What authors and receivers are told: the faults of a source beside its state and since when it has been so, and the
 * signed notices that wait to be sent. All of it is working state.
 */
export const notices0004 = String.raw`
-- ---------------------------------------------------------------------------------------------- the state of a source

alter table source_status
  add column faults jsonb not null default '[]',
  add column since timestamptz;

-- What is known of looks made before: the first fault as a sentence, and that it was so at the last look at the latest.
update source_status set since = last_look_at where state <> 'unknown';
update source_status
  set faults = jsonb_build_array(jsonb_build_object(
    'code', reason, 'relativePath', null, 'line', null, 'message', coalesce(message, reason)))
  where reason is not null and state in ('failed', 'missing');

-- ------------------------------------------------------------------------------------------------------------- notices

-- How far the audit log has been turned into notices. Its row lock lets one daemon at a time make any. There is no row
-- until a webhook is set for the first time.
create table notice_cursor (
  id boolean primary key default true,
  sequence bigint not null,
  constraint "there is one cursor" check (id)
);

create table notice (
  id text primary key,
  type text not null,
  agent_key text collate "C",
  environment text collate "C",
  -- No foreign key: it would answer a TRUNCATE of the log before the rule that refuses it does.
  event_sequence bigint,
  body text not null,
  state text not null default 'WAITING',
  attempts integer not null default 0,
  due_at timestamptz not null default clock_timestamp(),
  host text,
  last_error text,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  constraint "a notice is of a known type" check (type in (
    'knowledge.loaded', 'knowledge.activated', 'knowledge.held', 'knowledge.refused', 'knowledge.stale')),
  constraint "an event is told once by each name" unique (event_sequence, type),
  constraint "a notice waits, is delivered or is dead" check (state in ('WAITING', 'DELIVERED', 'DEAD')),
  constraint "a notice that waits has not ended" check ((state = 'WAITING') = (finished_at is null)),
  constraint "a notice is smaller than 16 KB" check (octet_length(body) < 16000)
);
create index notice_due on notice (due_at) where state = 'WAITING';
create index notice_dead on notice (finished_at) where state = 'DEAD';
create index notice_delivered on notice (finished_at) where state = 'DELIVERED';

-- The packages of which it was last told that their source is stale.
create table stale_told (
  agent_key text collate "C" not null,
  environment text collate "C" not null,
  told_at timestamptz not null default clock_timestamp(),
  primary key (agent_key, environment),
  foreign key (agent_key, environment) references package
);

grant select, insert, update, delete on notice_cursor, notice, stale_told to agent_knowledge_app;
grant select on notice_cursor, notice, stale_told to agent_knowledge_auditor;
`;
