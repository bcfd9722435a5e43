import { activateVersion } from '../src/operations/activate-version.ts';
import { holdPackage, releasePackage } from '../src/operations/hold-package.ts';
import { promoteVersion } from '../src/operations/promote-version.ts';
import { requestRefresh } from '../src/operations/request-refresh.ts';
import {
  agentKeyArgument,
  environmentArgument,
  idempotencyKeyArgument,
  knowledgeVersionArgument,
  reasonArgument,
} from './arguments.ts';
import { builder } from './builder.ts';
import { KnowledgePackage } from './package.ts';
import { Refresh } from './refresh.ts';

builder.mutationFields((t) => ({
  refresh: t.field({
    type: Refresh,
    scope: 'ai.knowledge.refresh',
    description:
      'Asks for a look at a package’s source and waits for its outcome. The request is stored first: without a live daemon the answer is `QUEUED` at once, and the request stays.',
    args: {
      agentKey: t.arg.string(agentKeyArgument),
      environment: t.arg.string(environmentArgument),
      waitSeconds: t.arg.int({
        description: 'How long to wait for the outcome: 0 to 60 seconds, 30 where it is left out.',
      }),
      acceptShrink: t.arg.boolean({
        description: 'That the package loses most of its files or bytes is meant, so it is not held for it.',
      }),
      idempotencyKey: t.arg.string(idempotencyKeyArgument),
    },
    resolve: (_root, args, { call }) => requestRefresh(call, args),
  }),
  promote: t.field({
    type: Refresh,
    scope: 'ai.knowledge.refresh',
    description:
      'Brings a version of one environment to another, as that one’s next number with the same content: what was tried is what goes on.',
    args: {
      agentKey: t.arg.string(agentKeyArgument),
      from: t.arg.string({ required: true, description: 'The environment that has the version.' }),
      to: t.arg.string({ required: true, description: 'The environment that is to have it.' }),
      knowledgeVersion: t.arg.string(knowledgeVersionArgument),
      hold: t.arg.boolean({
        description: 'True: the target is held afterwards. Needs the scope `ai.knowledge.rollback`.',
      }),
      reason: t.arg.string(reasonArgument),
      idempotencyKey: t.arg.string(idempotencyKeyArgument),
    },
    resolve: (_root, args, { call }) => promoteVersion(call, args),
  }),
  activate: t.field({
    type: KnowledgePackage,
    scope: 'ai.knowledge.rollback',
    description:
      'Makes an existing version the active one, forward or back. Only the pointer moves; activating the active version changes nothing.',
    args: {
      agentKey: t.arg.string(agentKeyArgument),
      environment: t.arg.string(environmentArgument),
      knowledgeVersion: t.arg.string(knowledgeVersionArgument),
      expectedActive: t.arg.string({
        description:
          'What you believe to be active now, such as `v4`. Where it is not, nothing changes and the `CONFLICT` says what is.',
      }),
      hold: t.arg.boolean({
        description:
          'True holds the package afterwards, false ends a hold; left out, the hold stays as it is.',
      }),
      reason: t.arg.string(reasonArgument),
      idempotencyKey: t.arg.string(idempotencyKeyArgument),
    },
    resolve: async (_root, args, { call, loaders }) =>
      loaders.packages.load(await activateVersion(call, args)),
  }),
  hold: t.field({
    type: KnowledgePackage,
    scope: 'ai.knowledge.rollback',
    description: 'Holds a package: refreshes go on storing versions and none becomes active by itself.',
    args: {
      agentKey: t.arg.string(agentKeyArgument),
      environment: t.arg.string(environmentArgument),
      reason: t.arg.string({ ...reasonArgument, required: true }),
      idempotencyKey: t.arg.string(idempotencyKeyArgument),
    },
    resolve: async (_root, args, { call, loaders }) => loaders.packages.load(await holdPackage(call, args)),
  }),
  release: t.field({
    type: KnowledgePackage,
    scope: 'ai.knowledge.rollback',
    description: 'Ends a hold. Nothing moves, unless `activateNewest` asks for it.',
    args: {
      agentKey: t.arg.string(agentKeyArgument),
      environment: t.arg.string(environmentArgument),
      activateNewest: t.arg.boolean({ description: 'True: the newest version becomes the active one.' }),
      idempotencyKey: t.arg.string(idempotencyKeyArgument),
    },
    resolve: async (_root, args, { call, loaders }) =>
      loaders.packages.load(await releasePackage(call, args)),
  }),
}));
