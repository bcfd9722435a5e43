import { sql } from 'kysely';
import { Client } from 'pg';
import { compared, openScene, type Bench, type Figure, type Scene } from './harness.ts';
import { agentName, lookAtRevision, refreshWith, registerAgents } from './packages.ts';

const versions = 1000;

/** What 1,000 versions that each change one file of seven take, against the same contents as one JSON column a version. */
export const storage: Bench = {
  name: 'storage',
  async run(): Promise<readonly Figure[]> {
    await using scene = await openScene();
    const inForce = await registerAgents(scene, 1);
    const client = new Client({ connectionString: scene.adminUrl });
    await client.connect();
    await client.query(
      'create table if not exists public.json_peer (number integer primary key, files jsonb not null)',
    );
    for (let revision = 0; revision < versions; revision += 1) {
      const look = lookAtRevision(agentName(0), revision);
      await refreshWith(scene, inForce, agentName(0), look);
      const files = look.root === 'present' ? look.files : [];
      const texts = files.map((file) =>
        'content' in file && file.content ? Buffer.from(file.content).toString() : '',
      );
      await client.query('insert into public.json_peer values ($1, $2)', [revision, JSON.stringify(texts)]);
    }
    const peer = await client.query(`select pg_total_relation_size('public.json_peer')::float8 as bytes`);
    await client.end();
    const ours = await sizeOf(scene);
    return [
      compared('bytes a version, blobs by checksum', ours / versions, 'B', {
        name: 'one JSONB column',
        value: peer.rows[0].bytes / versions,
      }),
    ];
  },
};

async function sizeOf(scene: Scene): Promise<number> {
  const { rows } = await scene.context.database.read((queries) =>
    sql<{ bytes: number }>`select sum(pg_total_relation_size(c.oid))::float8 as bytes from pg_class c
      where c.relname in ('blob', 'package_version', 'version_file') and c.relkind = 'r'`.execute(queries),
  );
  return rows[0]?.bytes ?? Number.NaN;
}
