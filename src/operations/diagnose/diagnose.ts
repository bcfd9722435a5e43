import type { Check } from '../../core/check.ts';
import { commandsFor } from './command.ts';
import { checkDaemons } from './daemons.ts';
import { diagnoseDatabase, type DatabasePorts } from './diagnose-database.ts';
import { diagnoseSource, type SourcePorts } from './diagnose-source.ts';
import { checkDisk, type DiskFacts } from './disk.ts';
import { checkNotices, type WebhookFacts } from './notices.ts';
import { checkPackages, checkQueue } from './packages.ts';
import { checkSettings } from './settings.ts';
import { told } from './told.ts';

/** Everything a diagnosis looks at. A port that throws becomes a check of its own, and the others go on. */
export interface DiagnosisPorts extends DatabasePorts, SourcePorts {
  readonly idleSettings: readonly string[];
  readonly watchEnvironments: readonly string[];
  /** Null where no webhook is set here. */
  readonly webhook: WebhookFacts | null;
  readonly readDisk: () => Promise<DiskFacts>;
}

/**
 * Checks everything that can be checked and changes nothing: what is broken is told and never keeps the rest from being
 * checked. No check quotes a secret or a file's body (K-089).
 */
export async function diagnose(ports: DiagnosisPorts): Promise<Check[]> {
  // First, since what the database knows says more about the folder; it is told after it.
  const { checks: database, known } = await diagnoseDatabase(ports);
  const now = ports.clock();
  const command = commandsFor(ports.policy.defaultEnvironment);
  return [
    ...checkSettings(ports.idleSettings),
    ...(await diagnoseSource(ports, known, now)),
    ...database,
    ...(known === null
      ? []
      : [
          ...checkDaemons(known, { ...ports, now }),
          ...checkPackages(known, command),
          ...checkQueue(known, command),
          ...checkNotices(known, ports.webhook),
        ]),
    ...(await told('disk', async () => checkDisk(await ports.readDisk()))),
  ];
}
