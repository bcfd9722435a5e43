import { withClient } from './database.ts';

/** Everything that makes up the schema of a database, as sorted lines: two databases with the same lines are the same. */
export async function snapshotSchema(superuserUrl: string): Promise<string[]> {
  return withClient(superuserUrl, async (client) => {
    await client.query(`set search_path = ''`);
    const { rows } = await client.query<{ line: string }>(`
      with ours as (select oid, nspname from pg_namespace where nspname in ('agent_knowledge', 'graphile_worker'))
      select format('schema %s owner %s rights %s', nspname, nspowner::regrole, nspacl) as line
        from pg_namespace join ours using (oid, nspname)
      union all
      select format('%s %s owner %s rights %s options %s', relkind, c.oid::regclass, relowner::regrole, relacl, reloptions)
        from pg_class c join ours on ours.oid = relnamespace where relkind <> 'c'
      union all
      select format('column %s.%s %s %s %s default %s collation %s rights %s', attrelid::regclass, attname,
          format_type(atttypid, atttypmod), attnotnull, attgenerated::text || attidentity::text, pg_get_expr(adbin, adrelid), attcollation::regcollation, attacl)
        from pg_attribute join pg_class c on c.oid = attrelid join ours on ours.oid = relnamespace
        left join pg_attrdef on adrelid = attrelid and adnum = attnum
        where attnum > 0 and not attisdropped
      union all
      select format('constraint %s on %s %s', conname, conrelid::regclass, pg_get_constraintdef(c.oid))
        from pg_constraint c join ours on ours.oid = connamespace
      union all
      select format('index %s', pg_get_indexdef(indexrelid)) from pg_index
        join pg_class c on c.oid = indexrelid join ours on ours.oid = relnamespace
      union all
      select format('trigger %s %s', tgenabled, pg_get_triggerdef(t.oid)) from pg_trigger t
        join pg_class c on c.oid = tgrelid join ours on ours.oid = relnamespace where not tgisinternal
      union all
      select format('function owner %s rights %s %s', proowner::regrole, proacl, pg_get_functiondef(p.oid))
        from pg_proc p join ours on ours.oid = pronamespace where prokind in ('f', 'p')
    `);
    const kept = await client.query<{ line: string }>(`
      select format('migration %s', name) as line from agent_knowledge.migration
      union all select format('queue migration %s', id) from graphile_worker.migrations
      union all select format('event %s %s', sequence, action) from agent_knowledge.knowledge_event
      union all select format('actor %s %s', id, kind) from agent_knowledge.actor
    `);
    // PostgreSQL names the sequence of an identity column itself, and counts on while the transaction of a process that was
    // killed a moment ago still holds the name; nobody ever names it.
    const lines = [...rows, ...kept.rows].map((row) => row.line.replaceAll(/_id_seq\d+/g, '_id_seq'));
    return lines.toSorted();
  });
}
