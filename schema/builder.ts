import SchemaBuilder from '@pothos/core';
import complexityPlugin from '@pothos/plugin-complexity';
import type { SchemaContext } from './context.ts';
import './guard.ts';
import { limits, priceOfField, streamBreadth } from './price.ts';

/** The one builder; every file of this folder declares its types on it. */
export const builder = new SchemaBuilder<{
  Context: SchemaContext;
  DefaultFieldNullability: false;
  Scalars: {
    DateTime: { Input: Date; Output: Date };
    ID: { Input: string; Output: string };
  };
}>({
  plugins: ['guard', complexityPlugin],
  defaultFieldNullability: false,
  complexity: { fieldComplexity: priceOfField },
});

builder.queryType({
  description: `Reads. Every answer says which environment it is about; where a call names none, it is the default one.

Every operation has a price, and one above ${limits.cost.toLocaleString('en')} is refused before it runs: an object costs 1, \`files\` and each list of a diff 10, \`content\` and \`unified\` 50, plain values nothing, and a connection multiplies everything inside it by \`first\` (50 where it is left out; lists without \`first\` count as 50). So one version with all its content costs 61, 50 versions with their files 551, 200 versions with their files 2,201. An operation is also at most ${limits.depth} levels deep and selects at most ${limits.breadth} fields, and one answer holds at most 16 MiB of content.`,
});

builder.mutationType({
  description: `Changes. Each one is a single transaction with its entry in the audit log.

With an \`idempotencyKey\` a change happens once: the same call with the same key is answered from its first effect for 7 days, another call with that key is a \`CONFLICT\`.`,
});

builder.subscriptionType({
  description: `Streams, over server-sent events: send the document with \`accept: text/event-stream\` and read \`event: next\` with one answer each until \`event: complete\` or the end of the connection. Every answer has an \`id\`; whoever comes back passes it on, as \`afterSequence\` or in the header \`Last-Event-ID\`, and misses nothing. A subscription selects at most ${streamBreadth} fields.`,
});
