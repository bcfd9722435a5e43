import { describe, expect, it } from 'vitest';
import type { Check } from '../../src/core/check.ts';
import type { Asked, DriveSurvey, Refusal } from '../../src/core/drive-survey.ts';
import { checkDrive } from '../../src/operations/diagnose/drive.ts';
import { checkDriveDaemons } from '../../src/operations/diagnose/drive-daemons.ts';
import { faultAdvice } from '../../src/operations/diagnose/file-advice.ts';
import type { Known } from '../../src/operations/diagnose/known.ts';

const now = new Date('2026-12-01T12:00:00Z');
const later = (seconds: number): Date => new Date(now.getTime() + seconds * 1000);
const answered = <Answer>(answer: Answer): Asked<Answer> => ({ state: 'answered', answer });
const refused = (trouble: string, change: Partial<Refusal> = {}) =>
  ({
    state: 'refused',
    trouble,
    message: 'No.',
    status: 403,
    codes: ['c1', 'c2'],
    requestId: 'r-1',
    ...change,
  }) as const;

const token = { isReadable: true, permissions: ['Sites.Selected'], expiresAt: later(3600) };
const healthy: DriveSurvey = {
  token: answered(token),
  place: answered({ driveId: 'b!x', rootPath: 'A' }),
  drive: answered({ name: 'Documents', type: 'documentLibrary' }),
  root: answered({ kind: 'folder' }),
  changes: answered(null),
  content: answered({ path: 'a.md', sizeBytes: 3, isAsReported: true }),
  clockAheadMs: 1000,
};
const check = (change: Partial<DriveSurvey>, isReadyToken = false): Check[] =>
  checkDrive({ name: 'The folder A', isReadyToken, survey: { ...healthy, ...change }, now });
const unwell = (checks: readonly Check[]): string[] =>
  checks.filter(({ state }) => state !== 'ok').map(({ state, name }) => `${state} ${name}`);

describe('what a drive answers (P1)', () => {
  const hidden = { state: 'not_asked' } as const;

  it.each<[string[], Partial<DriveSurvey>]>([
    [[], {}],
    [[], { token: answered({ isReadable: false, permissions: [], expiresAt: null }) }],
    [[], { token: answered({ ...token, permissions: [] }) }],
    [['warning may_write'], { token: answered({ ...token, permissions: ['Sites.ReadWrite.All'] }) }],
    [
      ['trouble no_permission', 'trouble root_forbidden'],
      { token: answered({ ...token, permissions: ['User.Read'] }), root: refused('forbidden') },
    ],
    [['trouble token_credentials'], { token: refused('credentials') }],
    [['trouble place_missing'], { place: refused('missing') }],
    [['trouble root_locked'], { root: refused('locked') }],
    [['trouble root_unanswered'], { root: refused('no_answer') }],
    [['trouble drive_forbidden'], { drive: refused('forbidden'), root: hidden }],
    [['warning drive_forbidden'], { drive: refused('forbidden') }],
    [['trouble root_not_a_folder'], { root: answered({ kind: 'file' }) }],
    [['warning changes_denied'], { changes: refused('refused', { status: 400 }) }],
    [['trouble content_denied'], { content: refused('forbidden') }],
    [['warning content_differs'], { content: answered({ path: 'a', sizeBytes: 1, isAsReported: false }) }],
    [[], { clockAheadMs: 300_000 }],
    [['warning clock_differs'], { clockAheadMs: 300_001 }],
    [['warning clock_differs'], { clockAheadMs: -300_001 }],
  ])('is %j for %j', (expected, change) => {
    expect(unwell(check(change))).toEqual(expected);
  });

  it('is told with status, every code and request id, and who mends it (P2, bug 40)', () => {
    const [denied] = check({ changes: refused('forbidden') }).filter(({ name }) => name === 'changes_denied');
    expect(denied?.found).toBe(
      'The drive does not tell its changes. No. (status 403, code c1, code c2, request id r-1)',
    );
    expect(denied?.who).toBe('m365_administrator');
  });

  it('a ready token that ends soon or has ended is told; one that is renewed is not', () => {
    const ending = (seconds: number) => ({ token: answered({ ...token, expiresAt: later(seconds) }) });
    expect(unwell(check(ending(599), true))).toEqual(['warning token_expires']);
    expect(unwell(check(ending(0), true))).toEqual(['trouble token_expired']);
    expect(unwell(check(ending(601), true))).toEqual([]);
    expect(unwell(check(ending(0), false))).toEqual([]);
  });
});

it('a file that is missing in a drive may be checked out, moved, hidden or late (A12, bug 41, T10, D22)', () => {
  const { meaning, fix } = faultAdvice('missing_required', 'active', 'graph');
  for (const cause of [
    /checked out and never checked in/,
    /renamed or moved/,
    /deleted/,
    /not there yet/,
    /hidden/,
  ])
    expect(meaning).toMatch(cause);
  expect(fix).toContain('recycle bin');
  // CONTROL: a folder knows none of it.
  expect(faultAdvice('missing_required', 'active', 'local').meaning).not.toContain('checked');
});

describe('a daemon on a drive', () => {
  const drive = {
    driveId: 'b!x',
    phase: 'waits',
    pages: 1,
    items: 2,
    hints: 0,
    lastRoundAt: later(-10).toISOString(),
    nextRoundAt: later(20).toISOString(),
    lastError: null,
    waitsUntil: null,
    notifiedUntil: null,
    requests: 5,
    units: 6,
  };
  const known = (change: object, standing: object = {}): Known =>
    ({
      daemons: [{ host: 'h', processId: 1, condition: { drive: { ...drive, ...change } } }],
      drives: [
        {
          driveId: 'b!x',
          cursorMovedAt: now,
          isSubscribed: true,
          notifiedUntil: later(60),
          notifiedAt: null,
          ...standing,
        },
      ],
    }) as unknown as Known;

  it.each<[string[], object, object]>([
    [[], {}, {}],
    [['warning throttled'], { waitsUntil: later(5).toISOString() }, {}],
    [[], { waitsUntil: later(-5).toISOString() }, {}],
    [['warning round_failed'], { lastError: 'No (503).' }, {}],
    [['warning round_late'], { nextRoundAt: later(-301).toISOString() }, {}],
    [['warning notifications_ended'], {}, { notifiedUntil: later(-1) }],
    [[], {}, { isSubscribed: false, notifiedUntil: later(-1) }],
    [[], {}, { driveId: 'b!another', notifiedUntil: later(-1) }],
  ])('is %j for %j, %j', (expected, change, standing) => {
    expect(unwell(checkDriveDaemons(known(change, standing), 'b!x', now))).toEqual(expected);
  });
});
