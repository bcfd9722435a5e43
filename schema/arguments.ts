import { defaultPageSize, maxPageSize } from '../src/core/page.ts';

// Arguments that many fields share, in the same words everywhere.

export const agentKeyArgument = {
  required: true,
  description: 'The agent, by its key in the registry, such as `intake_triage`.',
} as const;

export const environmentArgument = {
  description:
    'The environment, such as `staging`; left out, the default one. An unknown one is `NOT_FOUND`.',
} as const;

export const knowledgeVersionArgument = {
  required: true,
  description: 'A version by its name, such as `v3`.',
} as const;

export const firstArgument = {
  description: `How many rows to give: 1 to ${maxPageSize}, ${defaultPageSize} where it is left out.`,
} as const;

export const afterArgument = {
  description:
    'The `cursor` of the last row seen: the page begins behind it. Cursors are opaque and belong to the list that gave them.',
} as const;

export const reasonArgument = {
  description: 'Why, for whoever finds it later: 1 to 500 characters. The audit log keeps only its hash.',
} as const;

export const idempotencyKeyArgument = {
  description:
    'Makes a repeated call safe: 1 to 128 printable ASCII characters of your choice. The same call with the same key changes nothing again; another call with it is a `CONFLICT`. Kept for 7 days.',
} as const;
