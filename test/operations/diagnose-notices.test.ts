import { describe, expect, test } from 'vitest';
import type { Known } from '../../src/operations/diagnose/known.ts';
import { checkNotices } from '../../src/operations/diagnose/notices.ts';

const idle: Known['notices'] = {
  waiting: 0,
  oldestWaitingSeconds: 0,
  waitingError: null,
  dead: 0,
  deadError: null,
  untoldEvents: 0,
};
const webhook = { host: 'hooks.example.org', isReadableOnTheWay: false, isGuessable: false };
const check = (notices: Partial<Known['notices']>, facts: typeof webhook | null = webhook) =>
  checkNotices({ notices: { ...idle, ...notices } } as Known, facts);

describe('the notices', () => {
  test('are well where they go out, and where nobody is told', () => {
    expect(check({}, null)).toMatchObject([{ state: 'ok', found: 'No webhook is set: nobody is told.' }]);
    expect(check({ waiting: 2, oldestWaitingSeconds: 60, untoldEvents: 1 })).toMatchObject([
      { state: 'ok', found: 'Notices go to hooks.example.org; 2 wait. 1 event is yet to be told.' },
    ]);
  });

  test.each([
    [
      'notices_dead',
      { dead: 2, deadError: 'h answered 404.' },
      webhook,
      '2 notices are dead: h answered 404.',
    ],
    [
      'notices_late',
      { waiting: 1, oldestWaitingSeconds: 900, waitingError: 'h answered 500.' },
      webhook,
      '1 notice waits, the oldest for 900 s. Last error: h answered 500.',
    ],
    [
      'notices_late',
      { waiting: 3, oldestWaitingSeconds: 900 },
      webhook,
      '3 notices wait, the oldest for 900 s.',
    ],
    ['notices_unsent', { waiting: 1 }, null, '1 notice waits, and no webhook is set on this machine.'],
    [
      'webhook_in_clear',
      {},
      { ...webhook, isReadableOnTheWay: true },
      'Notices go to hooks.example.org over http.',
    ],
    [
      'webhook_secret_short',
      {},
      { ...webhook, isGuessable: true },
      'AGENT_KNOWLEDGE_WEBHOOK_SECRET has fewer than 16 bytes.',
    ],
  ])('are told as %s, with who can mend it: %j', (name, notices, facts, found) => {
    expect(check(notices, facts)).toMatchObject([
      { area: 'notices', name, state: 'warning', found, who: 'operator', fix: expect.any(String) },
    ]);
  });
});
