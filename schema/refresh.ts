import { versionName } from '../src/core/package.ts';
import { builder } from './builder.ts';
import { FindingType } from './finding.ts';
import { RefreshOutcome } from './outcome.ts';
import { KnowledgePackage } from './package.ts';
import type { RefreshRow } from './rows.ts';
import { KnowledgeVersion } from './version.ts';

const states: Record<RefreshRow['state'], { readonly description: string }> = {
  QUEUED: { description: 'It waits for a daemon; the request is stored and is not lost.' },
  RUNNING: { description: 'A daemon is looking at the source.' },
  DONE: { description: 'It has its outcome.' },
};

const RefreshState = builder.enumType('RefreshState', {
  description: 'How far a refresh has come.',
  values: states,
});

export const Refresh = builder.objectRef<RefreshRow>('Refresh').implement({
  description: 'One request to look at the source of a package, and what it came to.',
  fields: (t) => ({
    id: t.exposeID('id', { description: 'Names the request: `ref_` and a UUIDv7.' }),
    state: t.expose('state', { type: RefreshState, description: 'How far it has come.' }),
    outcome: t.expose('outcome', {
      type: RefreshOutcome,
      nullable: true,
      description: 'What it came to; null while it is not `DONE`.',
    }),
    matchingVersion: t.string({
      nullable: true,
      description: 'With `UNCHANGED`: the version whose content the source holds, such as `v3`.',
      resolve: (refresh) => (refresh.matchingNumber === null ? null : versionName(refresh.matchingNumber)),
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'Why, as a stable word such as `missing_required` or `same_checksum`; null with `LOADED`.',
    }),
    message: t.exposeString('message', { nullable: true, description: 'What happened, as a sentence.' }),
    faults: t.field({
      type: [FindingType],
      description: 'Everything that spoke against the package; the first one is the `reason`.',
      resolve: (refresh) => [...refresh.faults],
    }),
    warnings: t.field({
      type: [FindingType],
      description: 'What a person should know although it went on.',
      resolve: (refresh) => [...refresh.warnings],
    }),
    version: t.field({
      type: KnowledgeVersion,
      nullable: true,
      description: 'The version that was stored; null unless the outcome is `LOADED`.',
      resolve: (refresh, _args, { loaders }) =>
        refresh.loadedNumber === null
          ? null
          : loaders.versions.load({ ...refresh, number: refresh.loadedNumber }),
    }),
    package: t.field({
      type: KnowledgePackage,
      description: 'The package as it is now.',
      resolve: (refresh, _args, { loaders }) => loaders.packages.load(refresh),
    }),
  }),
});
