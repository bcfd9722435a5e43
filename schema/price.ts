import { complexityFromQuery } from '@pothos/plugin-complexity';
import {
  getNamedType,
  getOperationAST,
  GraphQLError,
  GraphQLObjectType,
  GraphQLSchema,
  isLeafType,
  Kind,
  OperationTypeNode,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  visit,
  type DocumentNode,
  type GraphQLField,
} from 'graphql';
import { KnowledgeError } from '../src/core/errors.ts';
import { defaultPageSize, maxPageSize } from '../src/core/page.ts';

/** What one operation may come to (T32, T33). */
export const limits = { cost: 5000, depth: 12, breadth: 200, tokens: 1000 } as const;

/** What is answered again with every change is selected once and paid for many times. */
export const streamBreadth = 50;

/** What introspection without aliases may come to: the whole of GraphiQL's question, and not much more. */
export const introspectionLimits = { cost: 60_000, depth: 16, breadth: 250 } as const;

/** What a field costs where it says nothing else: plain values nothing, objects one. */
export function priceOfField(_args: object, _context: object, field: GraphQLField<unknown, never>) {
  return { field: isLeafType(getNamedType(field.type)) ? 0 : 1, multiplier: 1 };
}

/** A connection multiplies what is inside it by the rows it may give. */
export function priceOfPage({ first }: { readonly first?: number | null | undefined }) {
  return { field: 1, multiplier: Math.min(Math.max(first ?? defaultPageSize, 1), maxPageSize) };
}

/** A list that takes no `first` counts as one page. */
export const priceOfList = { field: 1, multiplier: defaultPageSize } as const;

export interface PricedOperation {
  readonly document: DocumentNode;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
}

export interface Price {
  readonly cost: number;
  readonly depth: number;
  readonly breadth: number;
}

/**
 * Makes the check that comes before every execution: fragments are expanded once each, so that a document that would
 * unfold to millions of fields is judged in milliseconds (finding 1). The check answers what is wrong, or null.
 */
export function createPriceCheck(schema: GraphQLSchema): (operation: PricedOperation) => Error | null {
  const withIntrospection = withMetaFields(schema);
  return (operation) => {
    try {
      return (
        judge(priceOf(schema, operation), limitsOf(operation), 'This operation') ??
        judge(priceOf(withIntrospection, operation), introspectionLimitsOf(operation), 'This introspection')
      );
    } catch (error) {
      // Variables that do not fit, or a document that validation should have refused: never run what has no price.
      if (error instanceof GraphQLError) return error;
      throw error;
    }
  };
}

function limitsOf({ document, operationName }: PricedOperation): Price {
  const isStream = getOperationAST(document, operationName)?.operation === OperationTypeNode.SUBSCRIPTION;
  return isStream ? { ...limits, breadth: streamBreadth } : limits;
}

/**
 * Tools ask for the whole schema, which is dear, and never under other names; without aliases everything is answered
 * once, so that what a document can cost is bounded by the schema itself.
 */
function introspectionLimitsOf({ document }: PricedOperation): Price {
  let aliased = false;
  visit(document, {
    Field: (field) => {
      aliased ||= field.alias !== undefined;
    },
  });
  return aliased ? limits : introspectionLimits;
}

/** What one operation comes to, fragments expanded; nothing where there is no such operation, which cannot run. */
export function priceOf(
  schema: GraphQLSchema,
  { document, operationName, variables }: PricedOperation,
): Price {
  const operation = getOperationAST(document, operationName);
  if (!operation) return { cost: 0, depth: 0, breadth: 0 };
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  const { complexity, depth, breadth } = complexityFromQuery(
    { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] },
    { schema, variables: { ...variables } },
  );
  return { cost: complexity, depth, breadth };
}

function judge(price: Price, most: Price, what: string): KnowledgeError | null {
  const refuse = (message: string) =>
    new KnowledgeError('BAD_USER_INPUT', `${what} ${message}`, { details: { price, limits: most } });
  if (price.depth > most.depth)
    return refuse(`is ${price.depth} levels deep; at most ${most.depth} are accepted.`);
  if (price.breadth > most.breadth) {
    return refuse(`selects ${price.breadth} fields; at most ${most.breadth} are accepted.`);
  }
  if (price.cost > most.cost) return refuse(`costs ${price.cost}; at most ${most.cost} is accepted.`);
  return null;
}

/** The same schema with `__schema` and `__type` as ordinary fields, since the complexity plugin does not look into them. */
function withMetaFields(schema: GraphQLSchema): GraphQLSchema {
  const query = schema.getQueryType()?.toConfig();
  if (!query) return schema;
  const metaFields = {
    __schema: { type: SchemaMetaFieldDef.type },
    __type: { type: TypeMetaFieldDef.type },
  };
  const config = schema.toConfig();
  return new GraphQLSchema({
    ...config,
    query: new GraphQLObjectType({ ...query, fields: { ...query.fields, ...metaFields } }),
    types: config.types.filter((type) => type.name !== query.name),
  });
}
