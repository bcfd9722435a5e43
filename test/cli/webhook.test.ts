import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { queueNotices } from '../../src/operations/queue-notices.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { catcherSecret, NoticeCatcher } from '../support/notice-catcher.ts';
import { startKeeper, storedNotices } from '../support/notices.ts';
import { eventually } from '../support/processes.ts';
import { makeCliPlace, type CliPlace } from './cli-place.ts';

let database: TestDatabase;
let catcher: NoticeCatcher;
let place: CliPlace;
beforeAll(async () => {
  database = await createTestDatabase();
  catcher = await NoticeCatcher.open();
  place = await makeCliPlace(database, { WEBHOOK_URL: catcher.url, WEBHOOK_SECRET: catcherSecret });
});
afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await catcher[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
beforeEach(() => {
  catcher.requests.length = 0;
  catcher.answer = () => 204;
});

describe('webhook test', () => {
  it('sends one signed notice and prints the answer, with exit code 0 where it was taken', async () => {
    const { code, out, err } = await place.run('webhook', 'test');
    expect({ code, out, err }).toEqual({
      code: 0,
      out: `127.0.0.1:${catcher.port} answered 204.\n`,
      err: '',
    });
    expect(catcher.notices()).toMatchObject([{ type: 'knowledge.test', id: expect.stringMatching(/^msg_/) }]);
    expect(await storedNotices(database)).toEqual([]);
  });

  it('says what came instead, with exit code 1, and never the address beyond its host', async () => {
    catcher.answer = () => 401;
    const { code, body } = await place.json('webhook', 'test');
    expect({ code, body }).toEqual({
      code: 1,
      body: {
        host: `127.0.0.1:${catcher.port}`,
        status: 401,
        delivered: false,
        message: `127.0.0.1:${catcher.port} answered 401.`,
      },
    });
  });

  it('says which settings are missing where there are none, and needs no database', async () => {
    await using bare = await makeCliPlace(null);
    const { code, err } = await bare.run('webhook', 'test');
    expect(code).toBe(1);
    expect(err).toContain('AGENT_KNOWLEDGE_WEBHOOK_URL');
  });
});

describe('webhook list and retry', () => {
  it('say that there is nothing, where there is nothing', async () => {
    expect((await place.run('webhook', 'list')).out).toBe('There is no notice.\n');
    expect((await place.run('webhook', 'list', '--dead')).out).toBe('No notice is dead.\n');
    expect((await place.run('webhook', 'retry', '--all')).out).toBe('No notice is dead.\n');
    for (const wrong of [[], ['msg_1', '--all']])
      expect(await place.run('webhook', 'retry', ...wrong)).toMatchObject({ code: 64, out: '' });
    expect((await place.run('webhook', 'retry', 'msg_1')).err).toContain('webhook list');
  });

  it('show what is dead and why, and have it sent again', async () => {
    await queueNotices(database.context());
    await place.run('refresh', place.agentKey);
    catcher.answer = () => 500;
    {
      await using _keeper = await startKeeper(database, catcher.url, []);
      await eventually(
        () => storedNotices(database),
        (all) => all.length === 2 && all.every(({ state }) => state === 'DEAD'),
      );
    }
    const { out } = await place.run('webhook', 'list', '--dead');
    expect(out.split('\n')[0]).toMatch(
      /^NOTICE +TYPE +AGENT +ENVIRONMENT +STATE +ATTEMPTS +MADE +LAST ERROR$/,
    );
    expect(out).toMatch(
      new RegExp(
        `msg_.* knowledge\\.loaded +${place.agentKey} +production +dead +1 .*Z +127\\.0\\.0\\.1:${catcher.port} answered 500\\.\n`,
      ),
    );
    const { body } = await place.json('webhook', 'list', '--limit', '1');
    expect(body).toEqual({
      notices: [
        {
          id: expect.stringMatching(/^msg_/),
          type: 'knowledge.activated',
          agentKey: place.agentKey,
          environment: 'production',
          sequence: expect.any(Number),
          state: 'dead',
          attempts: 1,
          dueAt: null,
          host: `127.0.0.1:${catcher.port}`,
          lastError: `127.0.0.1:${catcher.port} answered 500.`,
          createdAt: expect.any(String),
          finishedAt: expect.any(String),
        },
      ],
    });
    const { notices } = body as unknown as { notices: [{ id: string }] };
    expect((await place.run('webhook', 'retry', notices[0].id)).out).toBe(
      '1 notice waits to be sent by the daemon.\n',
    );
    const retried = await place.json('webhook', 'retry', '--all');
    expect(retried.body).toEqual({ retried: [expect.stringMatching(/^msg_/)] });
    expect((await storedNotices(database)).map(({ state }) => state)).toEqual(['WAITING', 'WAITING']);
  });
});

describe('packages', () => {
  it('tells below the table what speaks against each package, where, and since when', async () => {
    await place.put('Triage/rules.md', '# Rules\n\nAsk <script>\n');
    await place.run('refresh', place.agentKey);
    const { out } = await place.run('packages');
    expect(out).toMatch(
      new RegExp(
        `\n\n${place.agentKey}:\n  Triage/rules\\.md:3 script_markup since \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\dZ: .+\n$`,
      ),
    );
    const { body } = await place.json('packages');
    expect(body).toMatchObject({
      packages: [
        {
          sourceStatus: {
            reason: 'script_markup',
            since: expect.stringMatching(/Z$/),
            faults: [
              {
                code: 'script_markup',
                relativePath: 'Triage/rules.md',
                line: 3,
                message: expect.any(String),
              },
            ],
          },
        },
      ],
    });
    await place.put('Triage/rules.md', '# Rules\n\nAsk.\n');
    await place.run('refresh', place.agentKey);
    expect((await place.run('packages')).out).not.toContain('since');
  });
});
