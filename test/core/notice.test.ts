import { describe, expect, test } from 'vitest';
import { noticesOf, type LoggedEvent } from '../../src/core/event-notices.ts';
import { eventActions } from '../../src/core/events.ts';
import {
  judgeAnswer,
  parseRetryAfter,
  usualRetrySeconds,
  type NoticeAnswer,
} from '../../src/core/notice-delivery.ts';
import { maxNoticeBytes, noNoticeData, noticeBody } from '../../src/core/notice.ts';

const event = (action: LoggedEvent['action'], details: object): LoggedEvent => ({
  sequence: 7,
  actorRef: 'key:12',
  action,
  agentKey: 'intake',
  environment: 'dev',
  details: JSON.stringify(details),
});
const about = { agentKey: 'intake', environment: 'dev', sequence: 7, actor: { kind: 'key', id: '12' } };

describe('an event of the log', () => {
  test.each([
    ['agent.knowledge_loaded', { version: 'v3', checksum: 'c', generation: 3, activated: false }, ['loaded']],
    [
      'agent.knowledge_loaded',
      { version: 'v3', checksum: 'c', generation: 3, activated: true },
      ['loaded', 'activated'],
    ],
    ['agent.knowledge_rollback', { from: 'v3', to: 'v1', direction: 'back', generation: 4 }, ['activated']],
    ['agent.knowledge_held', { by: 'SHRANK', reasonHash: 'h' }, ['held']],
    ['agent.knowledge_failed', { reason: 'missing_required', findings: [] }, ['refused']],
    ['agent.knowledge_validation_failed', { reason: 'secret_found', findings: [] }, ['refused']],
    ['agent.registry_rejected', { reason: 'registry_bad_json', findings: [] }, ['refused']],
  ] as const)('%s %j is told as %j', (action, details, words) => {
    const drafts = noticesOf(event(action, details));
    expect(drafts.map((draft) => draft.type)).toEqual(words.map((word) => `knowledge.${word}`));
    for (const { data } of drafts) expect(data).toMatchObject(about);
  });

  test('of any other kind is told to nobody', () => {
    const silent = eventActions.filter((action) => noticesOf(event(action, {})).length === 0);
    expect(silent).toEqual([
      'agent.knowledge_unchanged',
      'agent.knowledge_released',
      'agent.registry_changed',
      'agent.source_lost',
      'agent.source_returned',
      'agent.run_mismatch',
      'key.created',
      'key.revoked',
      'log.epoch_opened',
    ]);
  });

  test('names version, cause, reason and places, and passes on nothing else of its details', () => {
    const canary = { excerpt: 'CANARY', warnings: ['CANARY'], reasonHash: 'CANARY', message: 'CANARY' };
    const findings = [{ code: 'secret_found', path: 'a.md', line: 3, ...canary }];
    const drafts = [
      ...noticesOf(
        event('agent.knowledge_loaded', { version: 'v3', checksum: 'c', generation: 3, ...canary }),
      ),
      ...noticesOf(event('agent.knowledge_rollback', { to: 'v1', generation: 4, ...canary })),
      ...noticesOf(event('agent.knowledge_held', { by: 'RATE', ...canary })),
      ...noticesOf(
        event('agent.knowledge_validation_failed', { reason: 'secret_found', findings, ...canary }),
      ),
    ];
    expect(drafts.map((draft) => draft.data)).toEqual([
      { ...noNoticeData, ...about, knowledgeVersion: 'v3', checksum: 'c', generation: 3 },
      { ...noNoticeData, ...about, knowledgeVersion: 'v1', generation: 4 },
      { ...noNoticeData, ...about, holdCause: 'RATE' },
      {
        ...noNoticeData,
        ...about,
        reason: 'secret_found',
        faults: [{ code: 'secret_found', relativePath: 'a.md', line: 3 }],
      },
    ]);
    expect(JSON.stringify(drafts)).not.toContain('CANARY');
  });
});

describe('a body', () => {
  const at = new Date('2026-01-02T03:04:05.678Z');
  const faults = (count: number, path: string) =>
    Array.from({ length: count }, (_, index) => ({
      code: 'missing_required',
      relativePath: `${path}${index}.md`,
      line: null,
    }));

  test('says type, time and all of its data', () => {
    expect(
      JSON.parse(noticeBody('knowledge.refused', at, { ...noNoticeData, ...about, faults: faults(2, 'a') })),
    ).toEqual({
      type: 'knowledge.refused',
      timestamp: '2026-01-02T03:04:05.678Z',
      data: { ...noNoticeData, ...about, faults: faults(2, 'a'), moreFaults: 0 },
    });
  });

  test.each([
    ['short paths', 'a'],
    ['long ones', 'ü/'.repeat(150)],
    ['paths that are written with escapes', '"\\'.repeat(400)],
  ])('stays below 16 KB with 2,000 faults, and counts what it leaves out: %s', (_, path) => {
    const body = noticeBody('knowledge.refused', at, { ...noNoticeData, faults: faults(2000, path) });
    expect(Buffer.byteLength(body)).toBeLessThan(maxNoticeBytes);
    const { data } = JSON.parse(body);
    expect(data.faults.length).toBeGreaterThan(0);
    expect(data.faults.length + data.moreFaults).toBe(2000);
  });
});

describe('an attempt', () => {
  const answered = (status: number, retryAfterSeconds: number | null = null): NoticeAnswer => ({
    kind: 'answered',
    status,
    retryAfterSeconds,
  });
  const judge = (answer: NoticeAnswer, attempt = 1) =>
    judgeAnswer(answer, { attempt, host: 'h:1', retrySeconds: [5, 30] });

  test.each([200, 202, 204, 299])('that is answered %i has delivered', (status) => {
    expect(judge(answered(status))).toEqual({ next: 'delivered' });
  });

  test.each([
    [answered(500), 'h:1 answered 500.'],
    [answered(404), 'h:1 answered 404.'],
    [answered(302), 'h:1 answered 302; redirects are not followed.'],
    [
      { kind: 'unreachable', why: 'refused the connection (ECONNREFUSED).' } as const,
      'h:1 refused the connection (ECONNREFUSED).',
    ],
  ])('that ends otherwise is made again: %j', (answer, error) => {
    expect(judge(answer)).toEqual({ next: 'again', afterSeconds: 5, error });
    expect(judge(answer, 2)).toEqual({ next: 'again', afterSeconds: 30, error });
    expect(judge(answer, 3)).toEqual({ next: 'dead', error });
  });

  test('that is answered 410 is the last one', () => {
    expect(judge(answered(410))).toMatchObject({ next: 'dead' });
  });

  test('that our own end cut short does not count', () => {
    expect(judge({ kind: 'interrupted' }, 3)).toEqual({ next: 'back' });
  });

  test('is made again no earlier than a busy receiver asks, and within half a day', () => {
    expect(judge(answered(429, 60))).toMatchObject({ afterSeconds: 60 });
    expect(judge(answered(503, 1))).toMatchObject({ afterSeconds: 5 });
    expect(judge(answered(503, 999_999))).toMatchObject({ afterSeconds: 43_200 });
    expect(judge(answered(500, 60))).toMatchObject({ afterSeconds: 5 });
  });

  test('is made for a day at least, ever more rarely', () => {
    expect(usualRetrySeconds.reduce((sum, seconds) => sum + seconds)).toBeGreaterThan(24 * 3600);
    expect(usualRetrySeconds.toSorted((a, b) => a - b)).toEqual(usualRetrySeconds);
  });

  test.each([
    ['120', 120],
    ['Fri, 02 Jan 2026 03:05:00 GMT', 60],
    ['Fri, 02 Jan 2026 03:03:00 GMT', 0],
    ['soon', null],
    [undefined, null],
  ])('reads Retry-After %s as %s seconds', (text, seconds) => {
    expect(parseRetryAfter(text, new Date('2026-01-02T03:04:00Z'))).toBe(seconds);
  });
});
