import { fine, warn, type Advice, type Check } from '../../core/check.ts';
import { counted } from '../../core/count.ts';
import type { Known } from './known.ts';

const area = 'notices';

/** What may be shown of where notices go. */
export interface WebhookFacts {
  readonly host: string;
  /** Whether they go over http and beyond this machine. */
  readonly isReadableOnTheWay: boolean;
  /** Whether what they are signed with is too short not to be guessed. */
  readonly isGuessable: boolean;
}

/** A notice that waits for longer is late: an attempt was made several times. */
const lateSeconds = 600;

/** Whether notices go out, and which were given up. */
export function checkNotices({ notices }: Known, webhook: WebhookFacts | null): Check[] {
  const { waiting, oldestWaitingSeconds, waitingError, dead, deadError, untoldEvents } = notices;
  const checks: Check[] = [];
  if (webhook?.isReadableOnTheWay === true) {
    const found = `Notices go to ${webhook.host} over http.`;
    checks.push(warn({ area, name: 'webhook_in_clear', found }, inClear));
  }
  if (webhook?.isGuessable === true) {
    const found = 'AGENT_KNOWLEDGE_WEBHOOK_SECRET has fewer than 16 bytes.';
    checks.push(warn({ area, name: 'webhook_secret_short', found }, short));
  }
  if (dead > 0) {
    const found = `${counted(dead, 'notice is', 'notices are')} dead: ${deadError ?? 'no error was noted.'}`;
    checks.push(warn({ area, name: 'notices_dead', found }, given));
  }
  if (waiting > 0 && webhook === null) {
    const found = `${counted(waiting, 'notice waits', 'notices wait')}, and no webhook is set on this machine.`;
    checks.push(warn({ area, name: 'notices_unsent', found }, unset));
  } else if (waiting > 0 && oldestWaitingSeconds > lateSeconds) {
    const error = waitingError === null ? '' : ` Last error: ${waitingError}`;
    const found = `${counted(waiting, 'notice waits', 'notices wait')}, the oldest for ${oldestWaitingSeconds} s.${error}`;
    checks.push(warn({ area, name: 'notices_late', found }, waitingError === null ? untried : late));
  }
  if (checks.length > 0) return checks;
  if (webhook === null) return [fine({ area, name: 'notices', found: 'No webhook is set: nobody is told.' })];
  const events =
    untoldEvents === 0 ? '' : ` ${counted(untoldEvents, 'event is', 'events are')} yet to be told.`;
  const found = `Notices go to ${webhook.host}; ${counted(waiting, 'waits', 'wait')}.${events}`;
  return [fine({ area, name: 'notices', found })];
}

const inClear: Advice = {
  meaning: 'Others on the way can read what changed and when; none can forge it, since it is signed.',
  fix: 'Set AGENT_KNOWLEDGE_WEBHOOK_URL to an https address.',
  who: 'operator',
};
const short: Advice = {
  meaning: 'Whoever has one notice can try secrets until one fits, and then forge notices.',
  fix: 'Set a longer one here and at the receiver: "whsec_" and the output of "openssl rand -base64 24".',
  who: 'operator',
};
const given: Advice = {
  meaning: 'They were tried for a day and more, or the receiver wants none; they are kept.',
  fix: 'Mend the receiver or AGENT_KNOWLEDGE_WEBHOOK_URL, try "npx agent-knowledge webhook test", then run "npx agent-knowledge webhook retry --all".',
  who: 'operator',
};
const unset: Advice = {
  meaning: 'They are kept until a daemon runs with a webhook.',
  fix: 'Set AGENT_KNOWLEDGE_WEBHOOK_URL and AGENT_KNOWLEDGE_WEBHOOK_SECRET here as where the daemon runs.',
  who: 'operator',
};
const late: Advice = {
  meaning: 'They are tried again by themselves, for a day and more.',
  fix: 'Mend the receiver; "npx agent-knowledge webhook test" says how it answers now.',
  who: 'operator',
};
const untried: Advice = {
  meaning: 'No attempt at them has been noted, so no daemon with a webhook seems to live.',
  fix: 'Start the daemon with AGENT_KNOWLEDGE_WEBHOOK_URL and AGENT_KNOWLEDGE_WEBHOOK_SECRET set.',
  who: 'operator',
};
