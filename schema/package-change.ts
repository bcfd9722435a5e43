import { followKnowledge, maxResumeEvents } from '../src/operations/follow-knowledge.ts';
import { builder } from './builder.ts';
import type { SchemaContext } from './context.ts';
import type { ChangeRow } from './rows.ts';

const kinds: Record<ChangeRow['kind'], { readonly description: string }> = {
  LOADED: { description: 'A new version was stored; `activated` says whether it is active as well.' },
  ACTIVATED: { description: 'The pointer was moved to a version that was stored before, forward or back.' },
  HELD: { description: 'The package is held: refreshes store versions and no longer activate them.' },
  RELEASED: { description: 'The hold is over.' },
};

const PackageChangeKind = builder.enumType('PackageChangeKind', {
  description: 'What happened to a package.',
  values: kinds,
});

const PackageChange = builder.objectRef<ChangeRow>('PackageChange').implement({
  description:
    'One capture, move of the pointer, hold or release of a package. It says that something is new; `activeVersion` gives what is new.',
  fields: (t) => ({
    kind: t.expose('kind', { type: PackageChangeKind, description: 'What happened.' }),
    agentKey: t.exposeString('agentKey', { description: 'The agent, by its key in the registry.' }),
    environment: t.exposeString('environment', { description: 'The environment it happened in.' }),
    knowledgeVersion: t.exposeString('knowledgeVersion', {
      nullable: true,
      description:
        'The version that was stored or activated, such as `v3`; with `HELD` and `RELEASED` the one that was active, null where none was.',
    }),
    checksum: t.exposeString('checksum', {
      nullable: true,
      description: 'The bundle checksum of that version.',
    }),
    activated: t.exposeBoolean('activated', { description: 'Whether the pointer moved to that version.' }),
    generation: t.exposeInt('generation', {
      description: 'The package’s generation right after it: it grows with every move of the pointer.',
    }),
    sequence: t.exposeInt('sequence', {
      description:
        'Its number in the audit log: ascending, with holes for what is not followed. Pass the last one as `afterSequence` to go on from there.',
    }),
    at: t.field({
      type: 'DateTime',
      description: 'When it happened, by the database’s clock.',
      resolve: (change) => change.at,
    }),
  }),
});

builder.subscriptionField('packageChanged', (t) =>
  t.field({
    type: PackageChange,
    scope: 'knowledge:read',
    description: `Every change of the packages of an environment, or of one of them: each once, in order, within a second. It begins with what happens next, or behind \`afterSequence\`; so that nothing is missed, subscribe first and read \`activeVersion\` then.

A stream that cannot go on as asked ends with an error whose code is \`RESET\`: more than ${maxResumeEvents.toLocaleString('en')} events of the log lie between, or the database is another one. Read \`activeVersion\` again and subscribe without \`afterSequence\`. A reader that does not read is let go with a \`RESET\` too, whose \`afterSequence\` says where to go on. The stream ends with \`UNAUTHENTICATED\` when the credential does.`,
    args: {
      agentKey: t.arg.string({
        description:
          'Only this agent; left out, every one that the key may see. An unknown one is `NOT_FOUND`.',
      }),
      environment: t.arg.string({
        description: 'The environment; left out, the default one. An unknown one is `NOT_FOUND`.',
      }),
      afterSequence: t.arg.int({
        description:
          'The `sequence` of the last change that was seen: the stream begins behind it. 0: from the beginning of the log. The header `Last-Event-ID` says the same and wins.',
      }),
    },
    subscribe: async (_root, args, context) => {
      const { call, stream }: SchemaContext = context;
      const followed = await followKnowledge(call, {
        ...args,
        afterSequence: stream.resumeAfter ?? args.afterSequence,
      });
      stream.place = followed.place;
      return followed.changes;
    },
    resolve: (change, _args, { stream }) => {
      stream.sequence = change.sequence;
      return change;
    },
  }),
);
