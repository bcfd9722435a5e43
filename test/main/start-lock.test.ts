import { expect, test } from 'vitest';
import { takeStartLock } from '../../src/main/start-lock.ts';
import { createTestDatabase, withClient } from '../support/database.ts';

test('a start whose lock another one took while the database was away is told so, and takes it back from nobody', async () => {
  await using database = await createTestDatabase();
  await using lock = await takeStartLock(database.superuserUrl, '/data');
  await expect(takeStartLock(database.superuserUrl, '/data')).rejects.toMatchObject({ code: 'CONFLICT' });
  await withClient(database.superuserUrl, async (other) => {
    const { rows } = await other.query(`select pid, objid from pg_locks where locktype = 'advisory'
      and database = (select oid from pg_database where datname = current_database())`);
    // It waits for the lock on the server, so that it is first when the session that holds it ends.
    const taken = other.query('select pg_advisory_lock($1)', [rows[0].objid]);
    await database.asSuperuser((client) => client.query('select pg_terminate_backend($1)', [rows[0].pid]));
    await taken;
    expect(await lock.lost).toContain('Another "npm start" has taken over /data');
    expect(await lock.lost).not.toContain('postgres://');
  });
}, 40_000);
