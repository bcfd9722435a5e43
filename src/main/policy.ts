import type { Settings } from '../../config/settings.ts';
import type { Policy } from '../operations/context.ts';

/** What the settings say about how packages are treated. */
export function policyOf(settings: Settings): Policy {
  return {
    environments: settings.environments,
    defaultEnvironment: settings.defaultEnvironment,
    maxFileBytes: settings.maxFileBytes,
    shrinkHold: settings.shrinkHold,
    holdOnRollback: settings.holdOnRollback,
    maxVersionsPerHour: settings.maxVersionsPerHour,
    resyncSeconds: settings.resyncSeconds,
    activate: (environment) => settings.activate[environment] ?? 'auto',
    secondPersonEnvironments: settings.secondPersonEnvironments,
  };
}
