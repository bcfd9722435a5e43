import type { Check } from '../../core/check.ts';
import type { DriveSurvey } from '../../core/drive-survey.ts';
import type { Registry } from '../../core/package.ts';
import type { Pace } from '../../core/resync-pace.ts';
import { checkDrive, checkUnnamedDrive } from './drive.ts';
import { checkDriveDaemons } from './drive-daemons.ts';
import { checkPace } from './drive-pace.ts';
import { checkFiles, type FilePorts } from './files.ts';
import type { Known } from './known.ts';
import { lookPatienceMs, withPatience } from '../patient-source.ts';
import { told } from './told.ts';
import { checkDaemonWatchers } from './watcher.ts';

/** A drive in Microsoft 365 as the doctor asks it. */
export interface DrivePorts {
  readonly kind: 'drive';
  /** What a person knows the drive and the folder by; null where no setting names one. */
  readonly name: string | null;
  readonly isReadyToken: boolean;
  /** How often the timer of a daemon with these settings looks at everything. */
  readonly pace: Pace;
  /** Asks the service everything that reading stands on, within bounded time; the first of these files that is there is read. */
  readonly surveyDrive: (paths: readonly string[]) => Promise<DriveSurvey>;
}

/** The drive from the token to one file's bytes, the daemons on it, and every listed file. */
export async function diagnoseDrive(
  ports: DrivePorts & FilePorts,
  {
    registry,
    known,
    now,
  }: { readonly registry: Registry | null; readonly known: Known | null; readonly now: Date },
): Promise<Check[]> {
  let survey: DriveSurvey | null = null;
  const checks = await told('drive', async () => {
    if (ports.name === null) return [checkUnnamedDrive()];
    survey = await ports.surveyDrive(listedFiles(registry));
    return checkDrive({ ...ports, survey, now });
  });
  const daemons = known === null ? [] : checkDriveDaemons(known, driveIdOf(survey), now);
  const files = await told('files', async () =>
    // Where root or contents do not answer, each file would only say so once more, after as long a wait.
    registry === null || !mayLook(survey)
      ? []
      : checkFiles(registry, { ...ports, source: withPatience(ports.source, lookPatienceMs) }, known),
  );
  return [
    ...checks,
    ...checkPace(registry, ports.pace),
    ...daemons,
    ...files,
    ...checkDaemonWatchers(known?.daemons ?? []),
  ];
}

function mayLook(survey: DriveSurvey | null): boolean {
  if (survey?.root.state !== 'answered' || survey.root.answer.kind === 'file') return false;
  return survey.content.state !== 'refused' || !waiting.has(survey.content.trouble);
}

const waiting = new Set(['throttled', 'no_answer']);

function driveIdOf(survey: DriveSurvey | null): string | null {
  return survey?.place.state === 'answered' ? survey.place.answer.driveId : null;
}

function listedFiles(registry: Registry | null): string[] {
  const agents = [...(registry?.agents.values() ?? [])].filter((agent) => agent.enabled);
  return [...new Set(agents.flatMap((agent) => agent.files.map((file) => file.relativePath)))];
}
