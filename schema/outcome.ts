import { builder } from './builder.ts';
import type { RefreshRow } from './rows.ts';

type Outcome = NonNullable<RefreshRow['outcome']>;

const outcomes: Record<Outcome, { readonly description: string }> = {
  LOADED: { description: 'A new version was stored; it is active unless something holds the package.' },
  UNCHANGED: {
    description: 'The source holds what the active or the newest version holds; nothing changed.',
  },
  FAILED: { description: 'The package could not be fetched whole; the active version stays.' },
  VALIDATION_FAILED: { description: 'A file’s content was refused; the active version stays.' },
  REGISTRY_REJECTED: { description: 'The registry has faults; the last good one stays in force.' },
  SUPERSEDED: { description: 'A newer look finished first and speaks for this one.' },
};

export const RefreshOutcome = builder.enumType('RefreshOutcome', {
  description: 'What a refresh came to.',
  values: outcomes,
});
