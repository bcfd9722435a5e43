import {
  readVersionDiff,
  type FileChange,
  type VersionDiff as VersionDiffRow,
} from '../src/operations/read-version-diff.ts';
import { agentKeyArgument, environmentArgument } from './arguments.ts';
import { builder } from './builder.ts';
import { KnowledgeFile } from './file.ts';
import { maxUnifiedDiffs } from './loaders.ts';
import { KnowledgeVersion } from './version.ts';

const priceOfFiles = { field: 10, multiplier: 1 } as const;

const FileDiff = builder.objectRef<FileChange>('FileDiff').implement({
  description: 'A file that both versions have at the same path, with different content.',
  fields: (t) => ({
    relativePath: t.string({
      description: 'Its path below the source’s root, in both versions.',
      resolve: ({ after }) => after.relativePath,
    }),
    before: t.field({
      type: KnowledgeFile,
      description: 'The file as the version `from` has it.',
      resolve: ({ before }) => before,
    }),
    after: t.field({
      type: KnowledgeFile,
      description: 'The file as the version `to` has it.',
      resolve: ({ after }) => after,
    }),
    unified: t.string({
      complexity: { field: 50 },
      description: `What leads from the one content to the other, as a unified diff with three lines around each change, headed \`--- a/<path>\` and \`+++ b/<path>\`, each with its version behind a tab. \`git apply\` and \`patch -p1\` make the second content of the first with it, byte for byte: carriage returns, byte-order marks and a missing line feed at the end are kept. Where the two differ in more than some 1,000 lines, or are very large (2 MiB or 100,000 lines each), one block removes and adds everything from the first line that differs to the last: as true, and longer.

An answer holds at most ${maxUnifiedDiffs} of them, and each counts towards its 16 MiB of content with both contents that it compares.`,
      resolve: (change, _args, { loaders }) => loaders.unifiedDiffs.load(change),
    }),
  }),
});

const FileRename = builder.objectRef<VersionDiffRow['renamed'][number]>('FileRename').implement({
  description: 'The same content at another path: the old path is gone, the new one was not there before.',
  fields: (t) => ({
    from: t.string({
      description: 'Its path in the version `from`.',
      resolve: ({ before }) => before.relativePath,
    }),
    to: t.string({
      description: 'Its path in the version `to`.',
      resolve: ({ after }) => after.relativePath,
    }),
    checksum: t.string({
      description: 'SHA-256 of its exact bytes, the same in both versions.',
      resolve: ({ after }) => after.checksum,
    }),
  }),
});

const VersionDiff = builder.objectRef<VersionDiffRow>('VersionDiff').implement({
  description:
    'What leads from one version of a package to another: paths, contents and their order. Labels, load-order numbers and `required` flags are no part of it; equal bundle checksums mean an empty one.',
  fields: (t) => ({
    from: t.field({
      type: KnowledgeVersion,
      description: 'The version it starts from.',
      resolve: ({ from }) => from,
    }),
    to: t.field({
      type: KnowledgeVersion,
      description: 'The version it leads to.',
      resolve: ({ to }) => to,
    }),
    added: t.field({
      type: [KnowledgeFile],
      complexity: priceOfFiles,
      description: 'Files that only `to` has, in load order.',
      resolve: ({ added }) => [...added],
    }),
    removed: t.field({
      type: [KnowledgeFile],
      complexity: priceOfFiles,
      description: 'Files that only `from` has, in load order.',
      resolve: ({ removed }) => [...removed],
    }),
    changed: t.field({
      type: [FileDiff],
      complexity: priceOfFiles,
      description: 'Files that both have with different content, in the load order of `to`.',
      resolve: ({ changed }) => [...changed],
    }),
    renamed: t.field({
      type: [FileRename],
      complexity: priceOfFiles,
      description:
        'Files whose content is the same at a path that only `to` has, in its load order. Of several with one content the first goes with the first; they are neither `added` nor `removed`.',
      resolve: ({ renamed }) => [...renamed],
    }),
    reordered: t.exposeBoolean('reordered', {
      description:
        'Whether the files that both have, renamed ones included, are read in another order among themselves.',
    }),
  }),
});

builder.queryFields((t) => ({
  versionDiff: t.field({
    type: VersionDiff,
    scope: 'knowledge:read',
    description:
      'Compares two versions of a package, whichever is the newer. A version that is not there is `NOT_FOUND`, by name. Each list of files costs 10, `unified` 50.',
    args: {
      agentKey: t.arg.string(agentKeyArgument),
      environment: t.arg.string(environmentArgument),
      from: t.arg.string({ required: true, description: 'The version to start from, such as `v2`.' }),
      to: t.arg.string({ required: true, description: 'The version to compare it with, such as `v3`.' }),
    },
    resolve: (_root, { agentKey, environment = null, from, to }, { call }) =>
      readVersionDiff(call, { agentKey, environment, from, to }),
  }),
}));
