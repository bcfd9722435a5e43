import { builder } from './builder.ts';
import type { HoldRow } from './rows.ts';

const causes: Record<HoldRow['cause'], { readonly description: string }> = {
  OPERATOR: { description: 'A person held it.' },
  SHRANK: {
    description: 'The newest version lost most of its files or bytes; a person should look at it first.',
  },
  RATE: { description: 'More versions were captured within an hour than the settings allow.' },
};

const HoldCause = builder.enumType('HoldCause', { description: 'Why a package is held.', values: causes });

export const Hold = builder.objectRef<HoldRow>('Hold').implement({
  description:
    'Keeps refreshes from moving a package’s pointer: they go on storing versions, and none becomes active.',
  fields: (t) => ({
    actor: t.string({
      description: 'Who put it on; a reference where the name has been erased.',
      resolve: (hold) => hold.actorName ?? `actor:${hold.actorId}`,
    }),
    at: t.field({ type: 'DateTime', description: 'Since when.', resolve: (hold) => hold.at }),
    reason: t.string({
      description: 'Why, in the words of whoever put it on.',
      resolve: (hold) => hold.reason ?? 'The reason has been erased.',
    }),
    cause: t.expose('cause', { type: HoldCause, description: 'What kind of hold it is.' }),
  }),
});
