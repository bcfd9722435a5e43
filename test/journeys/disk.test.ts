import { appendFile, chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openContext } from '../../src/main/runtime.ts';
import { adminKeyPath, setUpDatabase } from '../../src/main/setup-database.ts';
import { startEmbeddedPostgres } from '../../src/store/embedded-postgres.ts';
import { createTestDatabase, withClient } from '../support/database.ts';
import {
  ask,
  assertReads,
  assertWhole,
  newText,
  refresh,
  type Refreshed,
  type Told,
} from '../support/one-agent-client.ts';
import { noLimits, oneAgentSettings, openOwnProduct, type OwnProduct } from '../support/own-product.ts';
import { askGraphql, eventually, runCommand } from '../support/processes.ts';
import { startOnVolumes, type SmallDisks } from '../support/small-disks.ts';
import { canMount, mountVolume, useUpInodes, type Volume } from '../support/volumes.ts';

/* R7, F29, F30: full disks. Volumes are mounted, which only root can. */

const isLong = process.env['AGENT_KNOWLEDGE_TEST_LONG'] === '1';
const mebibyte = 1_048_576;

let stack: AsyncDisposableStack;
let folder: string;

beforeEach(async () => {
  stack = new AsyncDisposableStack();
  folder = await mkdtemp(join(tmpdir(), 'ak-disk-'));
  await chmod(folder, 0o755); // So that the database's user gets there.
  stack.defer(() => rm(folder, { recursive: true, force: true }));
});
afterEach(() => stack.disposeAsync());

const save = () => writeFile(join(folder, 'knowledge', 'a.md'), newText());

const mounts = await canMount();

if (mounts)
  describe('full disks', () => {
    const sampleFile = (dataDir: string) =>
      join(dataDir, 'knowledge', '00 Shared Agent Knowledge', 'NUMU_CORE_SKILL.md');

    test('a full data volume refuses refreshes in plain words, a full log ends the server until there is room; nothing acknowledged is lost (R7, F29, F30)', async () => {
      const scene = await startOnVolumes(stack, folder, { data: 160, log: 100 });
      const product = stack.use(await openOwnProduct(scene.settings, scene.applicationUrl, noLimits));
      const acknowledged: Refreshed[] = [];
      await scene.data.fill(4 * mebibyte);
      await whileDataIsFull(product, scene.data, acknowledged);
      await scene.log.fill();
      await assertGuarded(scene);
      // What is left of the last segment is skipped, so that the next change needs a new one.
      await withClient(scene.superuser, (client) => client.query('select pg_switch_wal()')).catch(
        () => undefined,
      );
      await whileLogIsFull(product, scene, acknowledged);
      // Control: the same check finds an acknowledged version that is not there.
      const lost = {
        state: 'DONE',
        outcome: 'LOADED',
        version: { knowledgeVersion: 'v1', checksum: '0'.repeat(64) },
      };
      await expect(assertWhole(product.url, [lost])).rejects.toThrow(/v1/);
    }, 240_000);

    if (isLong)
      test.each([
        { full: 'data', data: 160, log: 1000 },
        { full: 'log', data: 1000, log: 40 },
      ])(
        'a $full volume that fills up by refreshes alone loses nothing acknowledged (R7 by the letter)',
        async ({ full, data, log }) => {
          const scene = await startOnVolumes(stack, folder, { data, log });
          const product = stack.use(await openOwnProduct(scene.settings, scene.applicationUrl, noLimits));
          const acknowledged: Refreshed[] = [];
          if (full === 'data') await whileDataIsFull(product, scene.data, acknowledged);
          else await whileLogIsFull(product, scene, acknowledged);
          expect(acknowledged.length).toBeGreaterThan(5);
        },
        600_000,
      );

    /** What the guard would say by now: it looks at the log's disk as well. */
    async function assertGuarded({ settings, applicationUrl }: SmallDisks): Promise<void> {
      const limits = { minFreeBytes: mebibyte, minFreeShare: 1 };
      await using guarded = await openContext(settings, applicationUrl, limits);
      expect(await guarded.room()).toContain("on the disk of the database's write-ahead log");
    }

    async function whileDataIsFull(
      product: OwnProduct,
      data: Volume,
      acknowledged: Refreshed[],
    ): Promise<void> {
      const refused = await refreshUntilRefused(product.url, acknowledged);
      expect(refused).toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringContaining('no space left') as string,
      });
      await data.fill();
      for (let more = 0; more < (isLong ? 10 : 3); more += 1) {
        await save();
        const told = await refresh(product.url);
        expect(told).toMatchObject({
          code: 'UNAVAILABLE',
          message: expect.stringContaining('no space left') as string,
        });
        await assertReads(product.url);
      }
      const before = await assertWhole(product.url, acknowledged);
      expect(product.troubles.filter((line) => line.includes('no space left'))).toHaveLength(1);
      // Nobody asks: the daemon goes on by itself once there is room.
      await data.clear();
      await data.resize({ mebibytes: 400 });
      await eventually(
        () => assertWhole(product.url, acknowledged),
        (count) => count > before,
        60_000,
      );
      expect(product.troubles).toContain('there is space again; what has changed meanwhile is captured now');
    }

    async function whileLogIsFull(
      product: OwnProduct,
      { log, lines }: SmallDisks,
      acknowledged: Refreshed[],
    ): Promise<void> {
      while (lines.length === 0) {
        await save();
        const told = await refresh(product.url, 5);
        if (told.refresh?.version) acknowledged.push(told.refresh);
        else if (told.code !== null) expect(told.code).toBe('UNAVAILABLE');
      }
      await eventually(
        async () => lines,
        (told) => told.some((line) => /does not come back yet: .*the disk is full/.test(line)),
      );
      expect(await ask(product.url, '{ packages { agentKey } }')).toMatchObject({ code: 'UNAVAILABLE' });
      await log.clear();
      await log.resize({ mebibytes: 200 });
      await eventually(
        async () => lines,
        (told) => told.at(-1) === 'PostgreSQL is back.',
        90_000,
      );
      await assertWhole(product.url, acknowledged);
      await save();
      await eventually(
        () => refresh(product.url),
        (told) => told.refresh?.outcome === 'LOADED' || told.refresh?.outcome === 'UNCHANGED',
        60_000,
      );
      await assertReads(product.url);
    }

    /** Refreshes with fresh content; answers the first refusal. */
    async function refreshUntilRefused(url: string, acknowledged: Refreshed[]): Promise<Told> {
      for (;;) {
        await save();
        const told = await refresh(url);
        if (told.refresh === null) return told;
        expect(told.refresh.state).toBe('DONE');
        acknowledged.push(told.refresh);
      }
    }

    test('npm start on a disk that is nearly full serves and captures nothing, says so once, and goes on by itself when there is room', async () => {
      const dataDir = join(folder, 'small disk');
      const volume = stack.use(await mountVolume(dataDir, { mebibytes: 400 }));
      const env = {
        AGENT_KNOWLEDGE_DATA_DIR: dataDir,
        AGENT_KNOWLEDGE_PORT: '0',
        AGENT_KNOWLEDGE_RESYNC_SECONDS: '1',
        AGENT_KNOWLEDGE_SETTLE: 'fast',
      };
      const started = stack.use(runCommand(['start'], { env }));
      const [, url = ''] = await started.until(/GraphQL\s+(http\S+)[\s\S]*v1 is active/, 90_000);
      const server = { url, dataDir };
      const asked = () => askGraphql(server, 'mutation { refresh(agentKey: "intake_triage") { outcome } }');
      await asked();

      await volume.fill(12 * mebibyte);
      await expect(asked()).rejects.toThrow(/no space for new versions: .* MiB of 400 MiB are free/);
      await appendFile(sampleFile(dataDir), '\nOne more.\n');
      await started.until(/nothing is captured: There is no space/, 60_000);
      await askGraphql(server, '{ activeVersion(agentKey: "intake_triage") { files { content } } }');
      await askGraphql(
        server,
        'mutation { activate(agentKey: "intake_triage", knowledgeVersion: "v1") { generation } }',
      );

      await volume.clear();
      await started.until(/v2 is active/, 60_000);
      await started.until(/there is space again/);
      expect(started.stdout().match(/nothing is captured/g)).toHaveLength(1);
      expect(await started.end('SIGINT')).toBe(0);
      expect(started.stderr()).toBe('');
    }, 180_000);

    test('an admin key that cannot be written is told in words, and made when there is room', async () => {
      const database = stack.use(await createTestDatabase());
      const dataDir = join(folder, 'keys');
      const volume = stack.use(await mountVolume(dataDir, { mebibytes: 1 }));
      await volume.fill();
      const settings = await oneAgentSettings(folder, dataDir);
      const urls = { adminUrl: database.superuserUrl, applicationUrl: database.applicationUrl };
      await expect(setUpDatabase(settings, urls)).rejects.toMatchObject({
        code: 'UNAVAILABLE',
        message: expect.stringMatching(
          /admin key could not be written to .*admin-key: no space left on the disk/,
        ) as string,
      });
      await volume.clear();
      expect(await setUpDatabase(settings, urls)).toEqual({
        path: adminKeyPath(settings),
        earlierPath: null,
      });
      expect(await readFile(adminKeyPath(settings), 'utf8')).toMatch(/^ak_[0-9a-f]+_/);
      expect((await stat(adminKeyPath(settings))).mode & 0o777).toBe(0o600);
    });

    test('a disk that takes no more files stops a first start in words, leaves nothing half made, and starts when it does', async () => {
      const dataDir = join(folder, 'names');
      const volume = stack.use(await mountVolume(dataDir, { mebibytes: 400, inodes: 300 }));
      await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow(
        /could not be created in .*the disk is full/,
      );
      await volume.resize({ inodes: 20_000 });
      const server = await startEmbeddedPostgres({ dataDir });
      expect(server.firstStart).toBe(true);
      await server.stop();
    }, 90_000);

    if (isLong)
      test('a database that may make no more files refuses refreshes in plain words, and goes on when it may (R7: inodes)', async () => {
        const scene = await startOnVolumes(stack, folder, { data: 400, log: 400 });
        const product = stack.use(await openOwnProduct(scene.settings, scene.applicationUrl, noLimits));
        const acknowledged: Refreshed[] = [];
        await scene.data.resize({ inodes: 4000 });
        const giveBack = await useUpInodes(scene.data.folder);
        expect(await refreshUntilRefused(product.url, acknowledged)).toMatchObject({
          code: 'UNAVAILABLE',
          message: expect.stringContaining('no space left') as string,
        });
        await assertReads(product.url);
        const before = await assertWhole(product.url, acknowledged);
        await giveBack();
        await eventually(
          () => assertWhole(product.url, acknowledged),
          (count) => count > before,
          60_000,
        );
      }, 240_000);
  });
