/**
 * Sign-in of browsers: one row is a one-time link first and, once the link was used, the session that it began. Only
 * hashes of the link's code and of the cookie's secret are stored (T1, T31).
 */
export const browserSessions0003 = String.raw`
alter table actor drop constraint "an actor is of a known kind";
alter table actor add constraint "an actor is of a known kind"
  check (kind in ('key', 'daemon', 'cli', 'local', 'system', 'browser'));

create table browser_session (
  session_id text primary key,
  actor_id bigint not null references actor,
  scopes text[] not null,
  agents text[],
  environments text[],
  created_at timestamptz not null default clock_timestamp(),
  code_hash text not null unique,
  code_expires_at timestamptz not null,
  secret_hash text unique,
  signed_in_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  constraint "a session is begun whole" check (num_nulls(secret_hash, signed_in_at, expires_at) in (0, 3))
);

-- A link lets one browser in: whoever comes second finds the secret of the first, and cannot put his own in its place.
create function session_update() returns trigger language plpgsql as $$
begin
  if old.secret_hash is not null
    and (new.secret_hash, new.signed_in_at, new.expires_at) is distinct from (old.secret_hash, old.signed_in_at, old.expires_at)
  then
    raise exception 'A sign-in link is used once.' using errcode = 'check_violation';
  end if;
  if old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at then
    raise exception 'A session that has ended stays ended.' using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger session_update before update on browser_session for each row execute function session_update();
alter table browser_session enable always trigger session_update;

grant select, insert, delete on browser_session to agent_knowledge_app;
grant update (secret_hash, signed_in_at, expires_at, revoked_at, last_used_at) on browser_session to agent_knowledge_app;
`;
