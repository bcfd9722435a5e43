import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import type { GraphQLFieldResolver } from 'graphql';
import { KnowledgeError } from '../src/core/errors.ts';
import { requireScope, type Scope } from '../src/core/permissions.ts';
import type { SchemaContext } from './context.ts';

const pluginName = 'guard' as const;

/**
 * Default deny, in one place: every field of Query, Mutation and Subscription declares the scope it needs, a field
 * that does not fails the build of the schema, and nothing runs before its scope was found (G17, T46). The operation
 * behind a field checks again, and checks agents and environments too.
 */
export class GuardPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    if (!isRootField(field)) return field;
    const scope = declaredScope(field);
    if (scope === undefined) throw new Error(`${field.parentType}.${field.name} declares no scope.`);
    return {
      ...field,
      description: `${field.description ?? ''}\n\nNeeds the scope \`${scope}\`.`.trim(),
      extensions: { ...field.extensions, scope },
    };
  }

  override wrapResolve(
    resolve: GraphQLFieldResolver<unknown, Types['Context'], object>,
    field: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    const scope = declaredScope(field);
    if (!isRootField(field) || scope === undefined) return resolve;
    return guarded(resolve, scope);
  }

  /** A stream is opened by its own function, before any value is resolved. */
  override wrapSubscribe(
    subscribe: GraphQLFieldResolver<unknown, Types['Context'], object> | undefined,
    field: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> | undefined {
    const scope = declaredScope(field);
    return subscribe === undefined || scope === undefined ? subscribe : guarded(subscribe, scope);
  }
}

function guarded<Context>(
  resolve: GraphQLFieldResolver<unknown, Context, object>,
  scope: Scope,
): GraphQLFieldResolver<unknown, Context, object> {
  return (parent, args, context, info) => {
    requireScope((context as SchemaContext).call.caller, scope);
    for (const [name, value] of Object.entries(args)) assertStorable(name, value);
    return resolve(parent, args, context, info);
  };
}

/** Texts that a database cannot hold as they are would be altered or fail far from their cause (F71, F73). */
function assertStorable(name: string, value: unknown): void {
  if (typeof value !== 'string' || (value.isWellFormed() && !value.includes('\0'))) return;
  throw new KnowledgeError(
    'BAD_USER_INPUT',
    `${name} must be well-formed Unicode text without NUL characters.`,
  );
}

function isRootField(field: { readonly kind: string }): boolean {
  return field.kind === 'Query' || field.kind === 'Mutation' || field.kind === 'Subscription';
}

function declaredScope(field: { readonly pothosOptions: object }): Scope | undefined {
  return (field.pothosOptions as { readonly scope?: Scope }).scope;
}

SchemaBuilder.registerPlugin(pluginName, GuardPlugin);

declare global {
  namespace PothosSchemaTypes {
    interface Plugins<Types extends SchemaTypes> {
      guard: GuardPlugin<Types>;
    }
    interface QueryFieldOptions<Types, Type, Nullable, Args, ResolveReturnShape> {
      /** The scope without which this field is refused. */
      scope: Scope;
    }
    interface MutationFieldOptions<Types, Type, Nullable, Args, ResolveReturnShape> {
      /** The scope without which this field is refused. */
      scope: Scope;
    }
    interface SubscriptionFieldOptions<Types, Type, Nullable, Args, ResolveShape, ResolveReturnShape> {
      /** The scope without which this field is refused. */
      scope: Scope;
    }
  }
}
