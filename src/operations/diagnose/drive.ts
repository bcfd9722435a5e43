import { fine, trouble, warn, type Advice, type Check } from '../../core/check.ts';
import { counted } from '../../core/count.ts';
import type { Asked, DriveSurvey, Refusal } from '../../core/drive-survey.ts';
import {
  changesDenied,
  clockDiffers,
  contentDenied,
  contentDiffers,
  notAFolder,
  notNamed,
  refusalAdvice,
} from './drive-advice.ts';
import { checkPermissions, checkToken } from './drive-permissions.ts';

const area = 'drive';

/** Beyond this Microsoft refuses tokens and signatures. */
const clockToleranceMs = 5 * 60_000;

export interface DriveChecked {
  /** What a person knows the drive and the folder by; null where no setting names one. */
  readonly name: string | null;
  /** Whether the token comes from the settings as it is. */
  readonly isReadyToken: boolean;
  readonly survey: DriveSurvey;
  readonly now: Date;
}

/** The settings name no drive, so nothing was asked (K-007). */
export function checkUnnamedDrive(): Check {
  return trouble({ area, name: 'drive_not_named', found: 'No setting names a drive.' }, notNamed);
}

/** What the service says of the drive, from the token to one file's bytes: each answer is a check (P1). */
export function checkDrive({ name, isReadyToken, survey, now }: DriveChecked): Check[] {
  return [
    ...ofToken(survey, { isReady: isReadyToken, now }),
    ...told(survey.place, 'place', () => []),
    ...ofDrive(survey),
    ...told(survey.root, 'root', ({ kind }) => [checkKind(name ?? 'The root', kind)]),
    ...ofChanges(survey),
    ...ofContent(survey),
    ...ofClock(survey),
  ];
}

function ofToken(survey: DriveSurvey, input: { readonly isReady: boolean; readonly now: Date }): Check[] {
  return told(survey.token, 'token', (facts) => [
    checkToken(facts, input),
    ...checkPermissions(facts, survey),
  ]);
}

function ofDrive(survey: DriveSurvey): Check[] {
  const checks = told(survey.drive, 'drive', ({ name, type }) => [
    fine({ area, name: 'drive', found: `The drive ${quoted(name)}answers${typed(type)}.` }),
  ]);
  // Whoever was let into a part of it need not see the whole.
  return survey.root.state === 'answered' ? checks.map(atWorst) : checks;
}

function atWorst(check: Check): Check {
  return check.state === 'trouble' ? { ...check, state: 'warning', meaning: partOnly, fix: null } : check;
}

const partOnly = 'The account sees a part of the drive; that is enough where the files below can be read.';

/** The checks of an answer, or the refusal with everything support asks for. */
function told<Answer>(
  asked: Asked<Answer>,
  what: 'token' | 'place' | 'drive' | 'root',
  judge: (answer: Answer) => Check[],
): Check[] {
  switch (asked.state) {
    case 'answered':
      return judge(asked.answer);
    case 'refused':
      return [refused(`${what}_${wordOf(asked)}`, asked, refusalAdvice(asked, what))];
    case 'not_asked':
      return [];
    default:
      return asked satisfies never;
  }
}

function refused(name: string, refusal: Refusal, advice: Advice): Check {
  return trouble({ area, name, found: withFacts(refusal) }, advice);
}

/** The kinds of trouble that a person tells apart; the others are all of the same kind: there was no use in asking. */
const words = new Set(['credentials', 'forbidden', 'missing', 'locked', 'throttled', 'setup', 'untrusted']);

function wordOf({ trouble: kind }: Refusal): string {
  return words.has(kind) ? kind : 'unanswered';
}

/** The sentence with status, codes and request id where it does not have them itself (P2). */
function withFacts({ message, status, codes, requestId }: Refusal): string {
  const facts = [
    ...(status === null ? [] : [['status', String(status)]]),
    ...codes.map((code) => ['code', code]),
    ...(requestId === null ? [] : [['request id', requestId]]),
  ].filter(([, value = '']) => !message.includes(value));
  if (facts.length === 0) return message;
  return `${message} (${facts.map((fact) => fact.join(' ')).join(', ')})`;
}

function quoted(name: string | null): string {
  return name === null ? '' : `"${name}" `;
}

function typed(type: string | null): string {
  return type === null ? '' : `; it is of the type ${type}`;
}

function checkKind(name: string, kind: 'file' | 'folder' | 'other' | 'unknown'): Check {
  if (kind === 'folder' || kind === 'unknown')
    return fine({ area, name: 'root', found: `${name} is there.` });
  const found = `${name} is there and is no folder.`;
  return trouble({ area, name: 'root_not_a_folder', found }, notAFolder);
}

function ofChanges({ changes }: DriveSurvey): Check[] {
  if (changes.state === 'not_asked') return [];
  if (changes.state === 'answered')
    return [fine({ area, name: 'changes', found: 'The drive tells its changes.' })];
  const found = `The drive does not tell its changes. ${withFacts(changes)}`;
  if (!isDenied(changes))
    return [warn({ area, name: `changes_${wordOf(changes)}`, found }, refusalAdvice(changes, 'changes'))];
  return [warn({ area, name: 'changes_denied', found }, changesDenied)];
}

/** Whether the service has answered, and means this very thing. */
function isDenied({ trouble: kind }: Refusal): boolean {
  return denials.has(kind);
}

const denials = new Set(['forbidden', 'missing', 'locked', 'gone', 'refused']);

function ofContent({ content }: DriveSurvey): Check[] {
  if (content.state === 'not_asked') return [];
  if (content.state === 'refused' && isDenied(content))
    return [refused('content_denied', content, contentDenied)];
  if (content.state === 'refused')
    return [refused(`content_${wordOf(content)}`, content, refusalAdvice(content, 'content'))];
  // That no file is there the checks of the files say.
  if (content.answer === null) return [];
  const { path: relativePath, sizeBytes, isAsReported } = content.answer;
  const read = `${relativePath} was read for trial, ${counted(sizeBytes, 'byte')}`;
  if (isAsReported === false) {
    const found = `${read}; the drive reports another length or hash.`;
    return [warn({ area, name: 'content_differs', found, relativePath }, contentDiffers)];
  }
  const found = isAsReported === null ? `${read}.` : `${read}, as the drive reports it.`;
  return [fine({ area, name: 'content', found, relativePath })];
}

function ofClock({ clockAheadMs }: DriveSurvey): Check[] {
  if (clockAheadMs === null) return [];
  const seconds = Math.round(Math.abs(clockAheadMs) / 1000);
  if (Math.abs(clockAheadMs) <= clockToleranceMs) return [];
  const where = clockAheadMs > 0 ? 'behind' : 'ahead of';
  const found = `The clock of this machine is ${seconds} s ${where} that of the service.`;
  return [warn({ area, name: 'clock_differs', found }, clockDiffers)];
}
