import { readFile } from 'node:fs/promises';
import {
  buildSchema,
  getNamedType,
  isEnumType,
  isObjectType,
  isSpecifiedScalarType,
  type GraphQLNamedType,
  type GraphQLSchema,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { printedSchema, printedSchemaPath } from '../../schema/print-schema.ts';
import { schema } from '../../schema/schema.ts';

/** The public interface, word by word: every type, field, argument and nullability that callers may rely on. */
const promised = buildSchema(`
scalar DateTime
type Query {
  packages(environment: String): [KnowledgePackage!]!
  package(agentKey: String!, environment: String): KnowledgePackage!
  activeVersion(agentKey: String!, environment: String, minGeneration: Int): KnowledgeVersion!
  versions(agentKey: String!, environment: String, first: Int, after: String): KnowledgeVersionConnection!
  version(agentKey: String!, environment: String, knowledgeVersion: String!): KnowledgeVersion!
  versionsByChecksum(checksum: String!): [KnowledgeVersion!]!
  versionDiff(agentKey: String!, environment: String, from: String!, to: String!): VersionDiff!
  auditEvents(agentKey: String, environment: String, action: String, first: Int, after: String): AuditEventConnection!
}
type Mutation {
  refresh(agentKey: String!, environment: String, waitSeconds: Int, acceptShrink: Boolean, idempotencyKey: String): Refresh!
  activate(agentKey: String!, environment: String, knowledgeVersion: String!, expectedActive: String, hold: Boolean, reason: String, idempotencyKey: String): KnowledgePackage!
  hold(agentKey: String!, environment: String, reason: String!, idempotencyKey: String): KnowledgePackage!
  release(agentKey: String!, environment: String, activateNewest: Boolean, idempotencyKey: String): KnowledgePackage!
  promote(agentKey: String!, from: String!, to: String!, knowledgeVersion: String!, hold: Boolean, reason: String, idempotencyKey: String): Refresh!
}
type Subscription { packageChanged(agentKey: String, environment: String, afterSequence: Int): PackageChange! }
type KnowledgePackage {
  agentKey: String!  environment: String!  agentCode: String!  stage: String!  enabled: Boolean!  listed: Boolean!
  active: KnowledgeVersion   newest: KnowledgeVersion   pending: KnowledgeVersion
  hold: Hold   generation: Int!
  sourceStale: Boolean!   sourceStatus: SourceStatus!
  versions(first: Int, after: String): KnowledgeVersionConnection!
}
type Hold { actor: String!  at: DateTime!  reason: String!  cause: HoldCause! }
enum HoldCause { OPERATOR SHRANK RATE }
type SourceStatus { watched: Boolean!  state: String!  lastLookAt: DateTime  lastSuccessAt: DateTime  outcome: RefreshOutcome  reason: String  message: String  faults: [Finding!]!  since: DateTime }
type KnowledgeVersion {
  packageId: Int!  agentKey: String!  environment: String!  agentCode: String!  stage: String!
  knowledgeVersion: String!  packageVersion: String!  registryVersion: String!  checksum: String!
  fileCount: Int!  totalSizeBytes: Int!  sourceType: String!  status: VersionStatus!  isActive: Boolean!
  loadedAt: DateTime!  loadedBy: String  sourceStale: Boolean!  generation: Int!  warnings: [Finding!]!  files: [KnowledgeFile!]!
}
type KnowledgeFile { relativePath: String!  loadOrder: Int!  required: Boolean!  checksum: String!  sizeBytes: Int!  content: String! }
enum VersionStatus { ACTIVE SUPERSEDED }
type PackageChange {
  kind: PackageChangeKind!  agentKey: String!  environment: String!  knowledgeVersion: String  checksum: String
  activated: Boolean!  generation: Int!  sequence: Int!  at: DateTime!
}
enum PackageChangeKind { LOADED ACTIVATED HELD RELEASED }
type VersionDiff { from: KnowledgeVersion!  to: KnowledgeVersion!  added: [KnowledgeFile!]!  removed: [KnowledgeFile!]!  changed: [FileDiff!]!  renamed: [FileRename!]!  reordered: Boolean! }
type FileDiff { relativePath: String!  before: KnowledgeFile!  after: KnowledgeFile!  unified: String! }
type FileRename { from: String!  to: String!  checksum: String! }
type Refresh {
  id: ID!  state: RefreshState!  outcome: RefreshOutcome  matchingVersion: String
  reason: String  message: String
  faults: [Finding!]!
  warnings: [Finding!]!  version: KnowledgeVersion  package: KnowledgePackage!
}
type Finding { code: String!  relativePath: String  line: Int  message: String! }
enum RefreshState { QUEUED RUNNING DONE }
enum RefreshOutcome { LOADED UNCHANGED FAILED VALIDATION_FAILED REGISTRY_REJECTED SUPERSEDED }
type AuditEvent { epoch: Int!  sequence: Int!  at: DateTime!  timeMicros: String!  actorId: String!  actor: String!  action: String!  agentKey: String  environment: String  subject: String  details: String!  hash: String!  previousHash: String! }
type KnowledgeVersionConnection { edges: [KnowledgeVersionEdge!]!  nodes: [KnowledgeVersion!]!  pageInfo: PageInfo!  totalCount: Int! }
type KnowledgeVersionEdge { cursor: String!  node: KnowledgeVersion! }
type AuditEventConnection { edges: [AuditEventEdge!]!  nodes: [AuditEvent!]!  pageInfo: PageInfo!  totalCount: Int!  totalIsExact: Boolean! }
type AuditEventEdge { cursor: String!  node: AuditEvent! }
type PageInfo { hasNextPage: Boolean!  hasPreviousPage: Boolean!  startCursor: String  endCursor: String }
`);

/** No introspection type and no scalar of GraphQL's own. */
function isOurs(type: GraphQLNamedType): boolean {
  return !type.name.startsWith('__') && !isSpecifiedScalarType(type);
}

/** One line per field, argument and enum value. */
function linesOf(described: GraphQLSchema): string[] {
  const types = Object.values(described.getTypeMap()).filter(isOurs);
  return types
    .flatMap((type) => {
      if (isEnumType(type)) return type.getValues().map((value) => `${type.name}.${value.name}`);
      if (!isObjectType(type)) return [type.name];
      return Object.values(type.getFields()).map((field) => {
        const args = field.args.map((arg) => `${arg.name}: ${String(arg.type)}`).toSorted();
        return `${type.name}.${field.name}(${args.join(', ')}): ${String(field.type)}`;
      });
    })
    .toSorted();
}

describe('the schema', () => {
  it('is what the public interface promises, no more and no less', () => {
    expect(linesOf(schema)).toEqual(linesOf(promised));
  });

  it('is what was printed and committed', async () => {
    // Where this fails: `npm run schema:print`.
    expect(printedSchema()).toBe(await readFile(printedSchemaPath, 'utf8'));
  });

  it('describes every type, field, argument and enum value', () => {
    const silent: string[] = [];
    const note = (name: string, description: string | null | undefined) => {
      if (!description || description.trim().length < 8) silent.push(name);
    };
    for (const type of Object.values(schema.getTypeMap()).filter(isOurs)) {
      note(type.name, type.description);
      if (isEnumType(type))
        for (const value of type.getValues()) note(`${type.name}.${value.name}`, value.description);
      if (!isObjectType(type)) continue;
      for (const field of Object.values(type.getFields())) {
        note(`${type.name}.${field.name}`, field.description);
        for (const arg of field.args) note(`${type.name}.${field.name}(${arg.name})`, arg.description);
      }
    }
    expect(silent).toEqual([]);
  });

  it('says which scope each root field needs', () => {
    for (const root of [schema.getQueryType(), schema.getMutationType()]) {
      for (const field of Object.values(root?.getFields() ?? {})) {
        expect(field.description).toContain(`Needs the scope \`${String(field.extensions['scope'])}\`.`);
        expect(getNamedType(field.type)).toBeDefined();
      }
    }
  });
});
