import { rename, rm, utimes } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { requestRefresh } from '../../src/operations/request-refresh.ts';
import { eventually } from '../support/processes.ts';
import { liveDrive, type LiveDrive } from '../support/live-drive.ts';

/*
 * A daemon on a drive, as a whole: the stand-in for Microsoft Graph over a real folder, HTTP, and a real database. The
 * letters and numbers are those of what is known of drives (D changes, A addresses, C contents, T trouble, bugs of others).
 */

const reaches = (drive: LiveDrive, agent: string, number: number) =>
  eventually(
    () => drive.package(agent),
    (row) => row.activeNumber === number,
    10_000,
  );

const fails = (drive: LiveDrive, agent: string, reason: string) =>
  eventually(
    () => drive.status(agent),
    (status) => status.outcome === 'FAILED' && status.reason === reason,
    15_000,
  );

const outcomeOf = (drive: LiveDrive, agent: string, outcome: string) =>
  eventually(
    () => drive.status(agent),
    (status) => status.outcome === outcome,
    15_000,
  );

/** Until everything that a start looks at has been looked at: what comes now, hints alone bring in. */
const untilQuiet = (drive: LiveDrive) =>
  eventually(
    async () => drive.fake.requests.filter(({ path }) => path.includes('/delta')),
    (rounds) => rounds.length >= 3,
    10_000,
  );

test.concurrent('a save in the drive becomes a version; only what differs is downloaded, and a restart downloads nothing', async () => {
  await using drive = await liveDrive({ agents: { triage: ['Shared/core.md', 'Triage/rules.md'] } });
  await reaches(drive, 'triage', 1);
  expect(new Set(drive.fake.downloads.map(({ subject }) => subject))).toEqual(
    new Set(['/Shared/core.md', '/Triage/rules.md']),
  );
  drive.fake.forget();
  await drive.save('Triage/rules.md', '# Rules, longer\n');
  await reaches(drive, 'triage', 2);
  expect(drive.fake.downloads.map(({ subject }) => subject)).toEqual(['/Triage/rules.md']);
  // What was captured is remembered by the first look after it.
  await drive.save('Triage/notes.md', 'beside it\n');
  await drive.save('Shared/core.md', '# Core, longer\n');
  await reaches(drive, 'triage', 3);
  await drive.save('Shared/core.md', '# Core, longer still\n');
  await reaches(drive, 'triage', 4);
  drive.fake.forget();
  await drive.startDaemon();
  expect(
    drive.fake.downloads.map(({ subject }) => subject).filter((path) => path !== '/Shared/core.md'),
  ).toEqual([]);
}, 40_000);

describe.concurrent('nothing is downloaded and no version made', () => {
  test.concurrent('when only times, tags or names around a file change (C1, C13, bug 22)', async () => {
    await using drive = await liveDrive({ agents: { triage: ['Triage/rules.md'] } });
    await reaches(drive, 'triage', 1);
    drive.fake.forget();
    await utimes(drive.file('Triage/rules.md'), new Date(0), new Date(0));
    // The tags change with the time, and so does what the feed says.
    await eventually(
      async () => drive.fake.requests,
      (asked) => asked.filter(({ subject }) => subject === '/Triage/rules.md').length > 0,
      10_000,
    );
    await rename(drive.file('Triage/rules.md'), drive.file('Triage/aside.md'));
    await rename(drive.file('Triage/aside.md'), drive.file('Triage/rules.md'));
    await outcomeOf(drive, 'triage', 'UNCHANGED');
    expect(drive.fake.downloads).toEqual([]);
    expect((await drive.package('triage')).nextNumber).toBe(2);
  }, 30_000);
});

describe.concurrent('a file that was moved, copied or made anew', () => {
  test.concurrent('is found by its path with old times, from elsewhere, or with another id (bugs 8, 9, 18, D14, A10)', async () => {
    await using drive = await liveDrive({ agents: { triage: ['Triage/rules.md'] } });
    await reaches(drive, 'triage', 1);
    // Copied with a time long ago.
    await drive.save('elsewhere.md', '# From elsewhere\n');
    await utimes(drive.file('elsewhere.md'), new Date(0), new Date(0));
    await rm(drive.file('Triage/rules.md'));
    await rename(drive.file('elsewhere.md'), drive.file('Triage/rules.md'));
    await reaches(drive, 'triage', 2);
    // Moved out: the package is incomplete, and what was active stays.
    await rename(drive.file('Triage/rules.md'), drive.file('rules.md'));
    await fails(drive, 'triage', 'missing_required');
    expect((await drive.package('triage')).activeNumber).toBe(2);
    await rename(drive.file('rules.md'), drive.file('Triage/rules.md'));
    await outcomeOf(drive, 'triage', 'UNCHANGED');
  }, 40_000);

  test.concurrent('goes with the folder that is renamed under it, and comes back with it (D5, bug 17)', async () => {
    await using drive = await liveDrive({ agents: { triage: ['Knowledge/Triage/rules.md'] } });
    await reaches(drive, 'triage', 1);
    await rename(drive.file('Knowledge'), drive.file('Elsewhere'));
    await fails(drive, 'triage', 'missing_required');
    await drive.save('Elsewhere/Triage/rules.md', '# Changed while away\n');
    await rename(drive.file('Elsewhere'), drive.file('Knowledge'));
    await reaches(drive, 'triage', 2);
  }, 40_000);
});

describe.concurrent('what the feed does not tell', () => {
  test.concurrent('the timer finds: a deletion without a tombstone (D11, bugs 10, 44)', async () => {
    await using drive = await liveDrive({ agents: { triage: ['Triage/rules.md'] }, resyncSeconds: 2 });
    await reaches(drive, 'triage', 1);
    await untilQuiet(drive);
    drive.fake.fault({ kind: 'feed', trick: 'no_tombstones' });
    await rm(drive.file('Triage/rules.md'));
    await fails(drive, 'triage', 'missing_required');
    expect((await drive.package('triage')).activeNumber).toBe(1);
  }, 40_000);

  test.concurrent('without the timer it stays unseen: the control', async () => {
    await using drive = await liveDrive({ agents: { triage: ['Triage/rules.md'] } });
    await reaches(drive, 'triage', 1);
    await untilQuiet(drive);
    drive.fake.fault({ kind: 'feed', trick: 'no_tombstones' });
    await rm(drive.file('Triage/rules.md'));
    await new Promise((resolve) => setTimeout(resolve, 3000));
    expect((await drive.status('triage')).outcome).not.toBe('FAILED');
  }, 40_000);
});

describe.concurrent('trouble of the service', () => {
  test.concurrent('in the middle of a look deletes nothing, and keeps what was captured until the new bytes are there (bugs 1, 2, 3)', async () => {
    await using drive = await liveDrive({
      agents: { triage: ['Triage/core.md', 'Triage/rules.md'] },
      resyncSeconds: 2,
    });
    await reaches(drive, 'triage', 1);
    const mend = [
      drive.fake.fault({ kind: 'status', status: 504, match: { path: 'core.md', origin: 'graph' } }),
      drive.fake.fault({ kind: 'status', status: 503, match: { origin: 'content' } }),
    ];
    await drive.save('Triage/rules.md', '# Rules, new\n');
    await fails(drive, 'triage', 'unreadable');
    expect(await drive.package('triage')).toMatchObject({ activeNumber: 1, nextNumber: 2 });
    for (const takeOut of mend) takeOut();
    await reaches(drive, 'triage', 2);
  }, 60_000);

  test.concurrent('with the root freezes everything, with words, and ends by itself (T9)', async () => {
    await using drive = await liveDrive({
      agents: { triage: ['Triage/rules.md'], memo: ['Memo/memo.md'] },
      resyncSeconds: 2,
    });
    await reaches(drive, 'memo', 1);
    const takeOut = drive.fake.fault({ kind: 'status', status: 403, code: 'accessDenied' });
    await fails(drive, 'memo', 'root_missing');
    const { message } = await drive.status('memo');
    expect(message).toMatch(/403.*accessDenied|accessDenied.*403/);
    expect(message).toMatch(/Files\.Read\.All|Sites\.Selected/);
    expect((await drive.package('memo')).activeNumber).toBe(1);
    const alarms = drive.log.filter(
      ({ level, message: text }) => level === 'error' && text.includes('is lost'),
    );
    expect(alarms).toHaveLength(1);
    takeOut();
    await drive.save('Memo/memo.md', '# After it\n');
    // Whoever asks now is answered by what is there now.
    const asked = await requestRefresh(drive.database.context(), { agentKey: 'memo' });
    expect(asked).toMatchObject({ outcome: 'LOADED' });
    await reaches(drive, 'memo', 2);
  }, 60_000);
});

test.concurrent('two files of one name in different folders are two files, and ids in odd letter case are the same drive (A8, bugs 32, 36)', async () => {
  await using drive = await liveDrive({ agents: { triage: ['A/rules.md', 'B/rules.md'] } });
  drive.fake.fault({ kind: 'item', driveId: 'upper' });
  await reaches(drive, 'triage', 1);
  await drive.save('B/rules.md', '# Only B\n');
  await reaches(drive, 'triage', 2);
  const { rows } = await drive.database.asSuperuser((client) =>
    client.query<{ relative_path: string; text: string }>(
      `select f.relative_path, convert_from(b.content, 'UTF8') as text
         from agent_knowledge.version_file f join agent_knowledge.blob b using (checksum)
         join agent_knowledge.package_version v on v.id = f.version_id where v.number = 2 order by 1`,
    ),
  );
  expect(rows.map(({ text }) => text)).toEqual(['# A/rules.md\n', '# Only B\n']);
}, 30_000);

test.concurrent('what must never be asked is never asked (D6, D21, D25, D27, C7, C8)', async () => {
  await using drive = await liveDrive({ agents: { triage: ['Triage/rules.md'] }, resyncSeconds: 1 });
  // Where a parent's path is told it is a lie: nothing may depend on it (D6).
  drive.fake.fault({ kind: 'item', fields: { webUrl: 'https://elsewhere.example/lie' } });
  await reaches(drive, 'triage', 1);
  await untilQuiet(drive);
  await drive.save('Triage/rules.md', '# Rules, longer\n');
  await reaches(drive, 'triage', 2);
  const asked = drive.fake.requests.filter(({ origin }) => origin === 'graph');
  expect(asked.length).toBeGreaterThan(5);
  for (const { path, headers, method } of asked) {
    expect(path).not.toMatch(/\$(?:select|filter|top|expand)|token=\d{4}-|:\/children|\/children/);
    expect(headers).not.toHaveProperty('prefer');
    expect(headers).not.toHaveProperty('if-none-match');
    expect(method === 'GET' || path === '/$batch').toBe(true);
    if (path.includes('delta')) expect(path).toMatch(/^\/drives\/[^/]+\/root\/delta/);
  }
  const contents = drive.fake.requests.filter(({ origin }) => origin === 'content');
  for (const { headers, hasAuthorization } of contents) {
    expect(hasAuthorization).toBe(false);
    expect(headers).not.toHaveProperty('range');
  }
  expect(drive.fake.writes).toEqual([]);
}, 30_000);
