import SchemaBuilder from '@pothos/core';
import { graphql } from 'graphql';
import { describe, expect, it } from 'vitest';
import '../../schema/guard.ts';
import { caller } from '../support/database.ts';

function build(options: object) {
  const builder = new SchemaBuilder<object>({ plugins: ['guard'] });
  builder.queryType({
    fields: (t) => ({
      open: t.string({ args: { text: t.arg.string() }, resolve: () => 'reached', ...options } as never),
    }),
  });
  return builder.toSchema();
}

describe('the guard', () => {
  it('fails the build of a schema whose root field declares no scope', () => {
    expect(() => build({})).toThrow('Query.open declares no scope.');
    expect(() => build({ scope: undefined })).toThrow('Query.open declares no scope.');
  });

  it('lets nobody reach a resolver without the scope', async () => {
    const schema = build({ scope: 'admin' });
    const ask = (scopes: Parameters<typeof caller>[1]) =>
      graphql({ schema, source: '{ open }', contextValue: { call: { caller: caller(1, scopes) } } });
    expect((await ask(['admin'])).data).toEqual({ open: 'reached' });
    const refused = await ask(['knowledge:read', 'runs:write']);
    expect(refused.data).toEqual({ open: null });
    expect(refused.errors?.[0]?.originalError).toMatchObject({ code: 'FORBIDDEN' });
  });

  it('refuses text that no database could keep as it is', async () => {
    const schema = build({ scope: 'admin' });
    const contextValue = { call: { caller: caller(1, ['admin']) } };
    const source = 'query ($text: String) { open(text: $text) }';
    for (const text of ['a\0b', '\uD800', 'x\uDC00y']) {
      const { errors } = await graphql({ schema, source, contextValue, variableValues: { text } });
      expect(errors?.[0]?.originalError, JSON.stringify(text)).toMatchObject({ code: 'BAD_USER_INPUT' });
    }
    const { data } = await graphql({
      schema,
      source,
      contextValue,
      variableValues: { text: '😀\r\n\u202E' },
    });
    expect(data).toEqual({ open: 'reached' });
  });
});
