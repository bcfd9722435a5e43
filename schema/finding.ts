import type { Finding } from '../src/core/finding.ts';
import { builder } from './builder.ts';

export const FindingType = builder.objectRef<Finding>('Finding').implement({
  description: 'One observation about a file or the registry. It never shows a secret.',
  fields: (t) => ({
    code: t.exposeString('code', {
      description: 'A stable word for programs, such as `missing_required` or `utf8_bom`.',
    }),
    relativePath: t.exposeString('relativePath', {
      nullable: true,
      description: 'The file it is about, as the registry spells its path; null where it is about no file.',
    }),
    line: t.exposeInt('line', {
      nullable: true,
      description: 'The line, from 1; null where it is about no line.',
    }),
    message: t.exposeString('message', { description: 'A sentence for a person.' }),
  }),
});
