import { exactText } from '../src/core/exact-text.ts';
import { builder } from './builder.ts';
import type { FileRow } from './rows.ts';

export const KnowledgeFile = builder.objectRef<FileRow>('KnowledgeFile').implement({
  description: 'One file of a version, exactly as it was captured.',
  fields: (t) => ({
    relativePath: t.exposeString('relativePath', {
      description: 'Its path below the source’s root, as the registry spells it.',
    }),
    loadOrder: t.exposeInt('loadOrder', {
      description: 'Its place: an agent reads its files in ascending load order.',
    }),
    required: t.exposeBoolean('required', {
      description: 'Whether the package could not have been captured without it.',
    }),
    checksum: t.exposeString('checksum', {
      description: 'SHA-256 of its exact bytes, as 64 lowercase hex digits.',
    }),
    sizeBytes: t.exposeInt('sizeBytes', { description: 'How many bytes it has.' }),
    content: t.string({
      complexity: { field: 50 },
      description:
        'Its text. Encoded as UTF-8 it gives exactly the captured bytes, a byte-order mark included, so its checksum can be checked. Needs the scope `knowledge:read` wherever it is asked for.',
      resolve: async (file, _args, { loaders }) => exactText(await loaders.contents.load(file)),
    }),
  }),
});
