/**
 * Every event says so on a channel, at its commit: whoever follows the log then looks at it (G13). The notice carries
 * nothing, since it is a hint; within one transaction PostgreSQL folds equal ones into one.
 */
export const changeFeed0002 = String.raw`
create function event_notify() returns trigger language plpgsql as $$
begin
  perform pg_notify('agent_knowledge_event', '');
  return null;
end $$;
create trigger event_notify after insert on knowledge_event for each statement execute function event_notify();
alter table knowledge_event enable always trigger event_notify;
`;
