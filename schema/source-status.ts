import { builder } from './builder.ts';
import { FindingType } from './finding.ts';
import { RefreshOutcome } from './outcome.ts';
import type { RefreshRow, SourceStatusRow } from './rows.ts';

export const SourceStatus = builder.objectRef<SourceStatusRow>('SourceStatus').implement({
  description: 'How the source of a package was when it was last looked at.',
  fields: (t) => ({
    watched: t.exposeBoolean('watched', {
      description: 'Whether the daemon looks by itself; else it looks when a refresh is asked for.',
    }),
    state: t.exposeString('state', {
      description:
        '`ok`, `failed`, `changing` (the files kept changing, nothing was captured), `suspect` (the source’s root looks lost and is looked at again), `missing` (it is lost), `returned` (it is there again and must be quiet first), `degraded` (well, but without events: changes are found by the sweep), `registry_rejected` (the offered registry is refused, the last good one stays), or `unknown` (nobody has looked yet).',
    }),
    lastLookAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When somebody last looked.',
      resolve: (status) => status.lastLookAt,
    }),
    lastSuccessAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When a look last found a whole, acceptable package.',
      resolve: (status) => status.lastSuccessAt,
    }),
    outcome: t.field({
      type: RefreshOutcome,
      nullable: true,
      description: 'What the last look came to.',
      resolve: (status) => status.outcome as RefreshRow['outcome'],
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Why it failed, as a stable word such as `missing_required`; null where it did not.',
    }),
    message: t.exposeString('message', {
      nullable: true,
      description: 'Why it is not `ok`, as a sentence; null where it is.',
    }),
    faults: t.field({
      type: [FindingType],
      description:
        'Everything that speaks against the package now, the first one is `reason`; empty where it is well. At most 50; `message` says how many there are beside the first.',
      resolve: (status) => [...status.faults],
    }),
    since: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'Since when it is in this state for this reason, by the first look that found it so; null where nobody has looked. `degraded` is well, and counts from when it became so.',
      resolve: (status) => status.since,
    }),
  }),
});
