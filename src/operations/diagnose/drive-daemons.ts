import { fine, warn, type Advice, type Check } from '../../core/check.ts';
import { counted } from '../../core/count.ts';
import type { DriveCondition } from '../../core/daemon-condition.ts';
import type { LiveDaemon } from '../../store/daemons.ts';
import type { DriveStanding } from '../../store/drive-standing.ts';
import type { Known } from './known.ts';

const area = 'drive';

/** A round that is so late does not come: the daemon hangs, or its machine sleeps. */
const lateMs = 5 * 60_000;

/** How the live daemons get on with their drives, and until when they are told of changes. */
export function checkDriveDaemons({ daemons, drives }: Known, driveId: string | null, now: Date): Check[] {
  const checks = daemons.flatMap((daemon) =>
    daemon.condition.drive === null ? [] : [checkOne(daemon, daemon.condition.drive, now)],
  );
  const standing = drives.filter((drive) => driveId === null || drive.driveId === driveId);
  return [...checks, ...standing.flatMap((drive) => checkStanding(drive, now))];
}

function checkOne({ host, processId }: LiveDaemon, drive: DriveCondition, now: Date): Check {
  const daemon = `The daemon on ${host}, process ${processId},`;
  const { waitsUntil, lastError, lastRoundAt, nextRoundAt, pages, items, requests, units } = drive;
  if (waitsUntil !== null && Date.parse(waitsUntil) > now.getTime())
    return warn(
      { area, name: 'throttled', found: `${daemon} waits until ${waitsUntil}, as the service asks.` },
      throttled,
    );
  const last =
    lastRoundAt === null ? 'has not read the changes yet' : `last read the changes ${ago(lastRoundAt, now)}`;
  if (lastError !== null)
    return warn({ area, name: 'round_failed', found: `${daemon} ${last}: ${lastError}` }, failed);
  if (nextRoundAt !== null && now.getTime() - Date.parse(nextRoundAt) > lateMs)
    return warn(
      { area, name: 'round_late', found: `${daemon} ${last}, and should have done so since.` },
      late,
    );
  const size = `${counted(pages, 'page')}, ${counted(items, 'item')}`;
  const cost = `${counted(requests, 'request')} and ${counted(units, 'unit')} since it began`;
  return fine({ area, name: 'daemon', found: `${daemon} ${last} (${size}); ${cost}.` });
}

function checkStanding({ cursorMovedAt, isSubscribed, notifiedUntil, notifiedAt }: DriveStanding, now: Date) {
  const checks: Check[] = [];
  if (cursorMovedAt !== null) {
    const found = `The place in the drive's changes is kept; it moved ${ago(cursorMovedAt, now)}.`;
    checks.push(fine({ area, name: 'cursor', found }));
  }
  if (isSubscribed && notifiedUntil !== null) checks.push(checkNotified(notifiedUntil, notifiedAt, now));
  return checks;
}

function checkNotified(until: Date, last: Date | null, now: Date): Check {
  const came = last === null ? 'none has come yet' : `the last one came ${ago(last, now)}`;
  const isOver = until <= now;
  const found = `Notifications of changes ${isOver ? 'ended at' : 'come until'} ${until.toISOString()}; ${came}.`;
  if (isOver) return warn({ area, name: 'notifications_ended', found }, ended);
  return fine({ area, name: 'notifications', found });
}

function ago(time: string | Date, now: Date): string {
  return `${Math.max(0, Math.round((now.getTime() - new Date(time).getTime()) / 1000))} s ago`;
}

const throttled: Advice = {
  meaning: 'Nothing is lost: the daemon goes on by itself when it may.',
  fix: 'Wait. If it comes often: raise AGENT_KNOWLEDGE_GRAPH_POLL_SECONDS and AGENT_KNOWLEDGE_RESYNC_SECONDS, and give this product an application of its own.',
  who: 'operator',
};
const failed: Advice = {
  meaning:
    'Changes are found by the timer until a round goes well again; the daemon goes on trying by itself.',
  fix: 'Mend what the message names; the checks of the drive above say what and who.',
  who: 'operator',
};
const late: Advice = {
  meaning: 'The daemon lives and does not ask the drive.',
  fix: 'Look into its log, and start it again.',
  who: 'operator',
};
const ended: Advice = {
  meaning: 'Changes are found by asking, so a little later; none is lost.',
  fix: 'Look into the log of the daemon for why it was not renewed: AGENT_KNOWLEDGE_PUBLIC_URL must be https and POST /hooks/graph must reach the API from outside.',
  who: 'operator',
};
