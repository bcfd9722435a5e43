import { spawn } from 'node:child_process';
import { mkdtemp, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { paintColoured, paintPlain } from '../../src/cli/output/colour.ts';
import { displayWidth } from '../../src/cli/output/printable.ts';
import { formatEvent } from '../../src/main/screen-line.ts';
import { findStart, findStartUrl, markStart } from '../../src/main/start-mark.ts';
import { eventually, runToEnd } from '../support/processes.ts';
import { runOnTerminal, screenOf } from '../support/terminal.ts';

const at = new Date(2026, 2, 4, 5, 6, 7);
const text = `intake (production): refused (script_markup); what was active stays active.\n  Triage/rules.md:7  "<script" is refused. ${'More words. '.repeat(8)}`;

describe('an event', () => {
  test('has its time, fits a terminal, and what belongs to it stands below it', () => {
    const lines = formatEvent({ text, tone: 'bad' }, at, { width: 80, paint: paintPlain }).split('\n');
    for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(80);
    expect(lines[0]).toMatch(/^05:06:07 {2}intake \(production\): refused/);
    expect(lines.findIndex((line) => line.startsWith(`${' '.repeat(12)}Triage/rules.md:7`))).toBeGreaterThan(
      0,
    );
  });

  test('is coloured in its headline alone, and shows nothing that moves a cursor (T54)', () => {
    const shown = formatEvent({ text: `${text}\u001b[2J`, tone: 'bad' }, at, {
      width: null,
      paint: paintColoured,
    });
    const [head = '', detail = ''] = shown.split('\n');
    expect(head).toContain('\u001b[31mintake');
    expect(detail).not.toContain('\u001b');
    expect(
      formatEvent({ text, tone: 'bad' }, at, { width: null, paint: paintPlain }).split('\n'),
    ).toHaveLength(2);
  });
});

/** A process that marks a data folder as `start` does, and then does nothing. */
const marking = `
  const { markStart } = await import(${JSON.stringify(new URL('../../src/main/start-mark.ts', import.meta.url).href)});
  const mark = await markStart(process.argv[1]);
  await mark.addUrl('http://127.0.0.1:4711');
  setInterval(() => undefined, 1000);
`;

describe('a start', () => {
  let dataDir: string;
  beforeEach(async () => {
    dataDir = join(await realpath(await mkdtemp(join(tmpdir(), 'agent-knowledge-screen-'))), 'data');
  });
  afterEach(() => rm(join(dataDir, '..'), { recursive: true, force: true }));

  test('is known while it lives, not after a kill, and never by a number that is another program', async () => {
    expect(await findStart(dataDir)).toBeNull();
    const start = spawn(process.execPath, ['--input-type=module', '-e', marking, dataDir, 'start'], {
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => start.once('exit', resolve));
    const pid = await eventually(
      () => findStart(dataDir),
      (found) => found !== null,
    );
    expect(pid).toBe(start.pid);
    await eventually(
      () => findStartUrl(dataDir),
      (found) => found === 'http://127.0.0.1:4711',
    );
    expect((await stat(join(dataDir, 'postgres.start'))).mode & 0o777).toBe(0o600);
    // Another terminal, without the port that was given to the start, finds it all the same.
    const found = await runToEnd(['login'], {
      env: { AGENT_KNOWLEDGE_DATA_DIR: dataDir, AGENT_KNOWLEDGE_AUTH: 'off' },
    });
    expect(found.stdout).toBe('http://127.0.0.1:4711/graphql\n');
    // Its database is away, and whoever has started everything must not be told to start it.
    const { code, stderr } = await runToEnd(['packages'], { env: { AGENT_KNOWLEDGE_DATA_DIR: dataDir } });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^agent-knowledge: The database does not answer yet: "npm start" runs on [^\n]+\n$/,
    );
    expect(stderr).toContain(`(process ${pid})`);
    // A second one leaves the mark to the first.
    await (await markStart(dataDir))[Symbol.asyncDispose]();
    expect(await findStart(dataDir)).toBe(pid);
    start.kill('SIGKILL');
    await ended;
    expect(await findStart(dataDir)).toBeNull();
    expect(await findStartUrl(dataDir)).toBeNull();
    const after = await runToEnd(['packages'], { env: { AGENT_KNOWLEDGE_DATA_DIR: dataDir } });
    expect(after.stderr).toContain('Run "npm start"');
    await writeFile(join(dataDir, 'postgres.start'), String(process.pid));
    expect(await findStart(dataDir)).toBeNull();
  });

  test('on a terminal shows what it does, then few lines, and ends clean', async () => {
    await using start = runOnTerminal(['start'], {
      columns: 80,
      env: { AGENT_KNOWLEDGE_DATA_DIR: dataDir, AGENT_KNOWLEDGE_PORT: '0', AGENT_KNOWLEDGE_SETTLE: 'fast' },
    });
    await start.until(/v1 is active: 7 files\./, 90_000);
    expect(start.shown()).toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] Starting PostgreSQL …/);
    start.type('\u0003');
    expect(await start.ended).toBe(0);
    const lines = screenOf(start.shown());
    expect(lines.join('\n')).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/);
    const banner = lines.indexOf('agent-knowledge is running.');
    expect(lines.slice(0, banner).filter((line) => line !== '')).toEqual([
      `The sample was copied to ${join(dataDir, 'knowledge')}.`,
    ]);
    const events = lines.filter((line) => /^\d\d:\d\d:\d\d {2}/.test(line));
    expect(events).toEqual([expect.stringContaining('intake_triage (production): v1 is active: 7 files.')]);
    expect(lines.filter((line) => line !== '').length - banner).toBeLessThan(20);
  }, 120_000);
});
