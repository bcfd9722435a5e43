import { GraphQLError } from 'graphql';
import { builder } from './builder.ts';

const iso8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

builder.scalarType('DateTime', {
  description: 'A moment as ISO 8601 text in UTC, with milliseconds: `2026-03-01T09:30:00.000Z`.',
  serialize: (value) => value.toISOString(),
  parseValue: (value) => {
    const moment = typeof value === 'string' && iso8601.test(value) ? new Date(value) : null;
    if (moment !== null && !Number.isNaN(moment.getTime())) return moment;
    throw new GraphQLError('DateTime must be ISO 8601 text with a zone, such as "2026-03-01T09:30:00.000Z".');
  },
});
