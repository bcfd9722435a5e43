import { eventActions } from '../src/core/events.ts';
import { KnowledgeError } from '../src/core/errors.ts';
import {
  countAuditLog,
  maxExactCount,
  readAuditLog,
  type AuditRequest,
} from '../src/operations/read-audit-log.ts';
import { afterArgument, firstArgument } from './arguments.ts';
import { builder } from './builder.ts';
import { connectionOf, declareConnection, type Connection } from './connection.ts';
import type { SchemaContext } from './context.ts';
import { priceOfPage } from './price.ts';
import type { EventRow } from './rows.ts';

const AuditEvent = builder.objectRef<EventRow>('AuditEvent').implement({
  description:
    'One entry of the audit log. Entries are chained by hashes, and every hashed field is here, so that a client can check the chain by itself.',
  fields: (t) => ({
    epoch: t.exposeInt('epoch', {
      description: 'The log’s epoch; a restored backup begins a new one.',
    }),
    sequence: t.exposeInt('sequence', {
      description: 'Its place in the log. A filtered reader sees holes; the log itself has none.',
    }),
    at: t.field({
      type: 'DateTime',
      description: 'When it happened, by the database’s clock.',
      resolve: (event) => new Date(Math.floor(event.atMicros / 1000)),
    }),
    timeMicros: t.string({
      description: 'The same moment as hashed: integer microseconds since 1970 UTC.',
      resolve: (event) => String(event.atMicros),
    }),
    actorId: t.exposeString('actorRef', {
      description: 'Who did it, as hashed: a kind and an id, such as `key:12`.',
    }),
    actor: t.string({
      description: 'Who did it, by name; the `actorId` where the name has been erased.',
      resolve: (event) => event.actorName ?? event.actorRef,
    }),
    action: t.exposeString('action', { description: 'What happened, such as `agent.knowledge_loaded`.' }),
    agentKey: t.exposeString('agentKey', {
      nullable: true,
      description: 'The agent it is about; null where it is about none.',
    }),
    environment: t.exposeString('environment', {
      nullable: true,
      description: 'The environment it is about; null where it is about none.',
    }),
    subject: t.exposeString('subject', {
      nullable: true,
      description: 'What exactly it is about: a version’s name, a key’s id, a registry’s checksum.',
    }),
    details: t.exposeString('details', {
      description:
        'Facts for programs, as JSON text in the one spelling of RFC 8785, which is what is hashed.',
    }),
    hash: t.exposeString('hash', { description: 'SHA-256 over all of this and the previous hash.' }),
    previousHash: t.exposeString('previousHash', {
      description: 'The hash of the entry before it; 64 zeros for the first.',
    }),
  }),
});

const AuditEventConnection = declareConnection({
  name: 'AuditEvent',
  node: AuditEvent,
  rows: 'Entries of the audit log, newest first',
  total: `How many entries match; at most ${maxExactCount.toLocaleString('en')} are counted.`,
});

builder.objectField(AuditEventConnection, 'totalIsExact', (t) =>
  t.boolean({
    description: 'Whether `totalCount` is exact; false: there are more.',
    resolve: async (connection) => (await connection.count()).isExact,
  }),
);

builder.queryField('auditEvents', (t) =>
  t.field({
    type: AuditEventConnection,
    scope: 'knowledge:read',
    complexity: priceOfPage,
    description:
      'The audit log, newest first. Without the scope `admin`, and for a key that is bound to agents or environments, only what concerns packages it may see.',
    args: {
      agentKey: t.arg.string({ description: 'Only what concerns this agent.' }),
      environment: t.arg.string({
        description:
          'Only what concerns this environment; left out, all of them. An unknown one is `NOT_FOUND`.',
      }),
      action: t.arg.string({ description: `Only this action: one of ${eventActions.join(', ')}.` }),
      first: t.arg.int(firstArgument),
      after: t.arg.string(afterArgument),
    },
    resolve: (_root, args, context) => logOf(context, args),
  }),
);

async function logOf({ call }: SchemaContext, request: AuditRequest): Promise<Connection<EventRow>> {
  assertAction(request.action ?? null);
  const page = await readAuditLog(call, request);
  return connectionOf(page, () => countAuditLog(call, request));
}

/** An auditor who mistypes an action must not conclude that it never happened. */
function assertAction(action: string | null): void {
  if (action === null || (eventActions as readonly string[]).includes(action)) return;
  throw new KnowledgeError(
    'BAD_USER_INPUT',
    `action must be one of ${eventActions.join(', ')}; found ${JSON.stringify(action.slice(0, 60))}.`,
  );
}
