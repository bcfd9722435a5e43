import { spawn } from 'node:child_process';
import { createClient } from 'graphql-sse';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { activateVersion } from '../../src/operations/activate-version.ts';
import { maxResumeEvents } from '../../src/operations/follow-knowledge.ts';
import { releasePackage } from '../../src/operations/hold-package.ts';
import { packageChanged, type Change } from '../support/event-stream.ts';
import { makeKey } from '../support/http.ts';
import { growLog } from '../support/knowledge.ts';
import { eventually } from '../support/processes.ts';
import { openStreamPlace, type StreamPlace } from '../support/stream-place.ts';

let place: StreamPlace;
let { database, server, other, load, stream } = {} as StreamPlace;
beforeAll(async () => {
  place = await openStreamPlace();
  ({ database, server, other, load, stream } = place);
});
afterAll(() => place[Symbol.asyncDispose]());

async function headOfLog(): Promise<number> {
  const { rows } = await database.asSuperuser((client) =>
    client.query<{ sequence: string }>('select sequence from agent_knowledge.event_head'),
  );
  return Number(rows[0]?.sequence);
}

describe('packageChanged', () => {
  it('tells every capture, move, hold and release once, in order, at every server', async () => {
    await load('told', 'one');
    await using here = await stream({ agentKey: 'told' });
    await using there = await stream({ agentKey: 'told' }, { url: other.url });
    await load('told', 'two');
    const context = database.context();
    await activateVersion(context, { agentKey: 'told', knowledgeVersion: 'v1', hold: true, reason: 'wrong' });
    await load('told', 'three');
    await releasePackage(context, { agentKey: 'told', activateNewest: true });
    const changes = await here.take(6);
    expect(
      changes.map((change) => [change.kind, change.knowledgeVersion, change.activated, change.generation]),
    ).toEqual([
      ['LOADED', 'v2', true, 2],
      ['ACTIVATED', 'v1', true, 3],
      ['HELD', 'v1', false, 3],
      ['LOADED', 'v3', false, 3],
      ['RELEASED', 'v1', false, 3],
      ['ACTIVATED', 'v3', true, 4],
    ]);
    expect(changes.map(({ sequence }) => sequence)).toEqual(
      changes.map(({ sequence }) => sequence).toSorted((a, b) => a - b),
    );
    expect(await there.take(6)).toEqual(changes);
  });

  it('carries the checksum and the moment of the version it names', async () => {
    await load('facts', 'one');
    await using open = await stream({ agentKey: 'facts' });
    await load('facts', 'two');
    const [change] = await open.take(1);
    const answer = await server.post(
      '{ activeVersion(agentKey: "facts") { agentKey environment knowledgeVersion checksum generation } }',
    );
    const { data } = (await answer.json()) as { data: { activeVersion: object } };
    expect(change).toMatchObject(data.activeVersion);
    expect(Date.parse(change?.at ?? '')).toBeGreaterThan(Date.now() - 60_000);
  });

  it('follows an environment where no agent is named, the default one where none is named', async () => {
    await load('one_of_two', 'x');
    await load('one_of_two', 'x', 'staging');
    await using production = await stream({});
    await using staging = await stream({ environment: 'staging' });
    await load('one_of_two', 'y', 'staging');
    await load('one_of_two', 'y');
    await load('two_of_two', 'y');
    const seen = ({ agentKey, environment }: Change) => `${environment}/${agentKey}`;
    expect((await production.take(2)).map(seen)).toEqual(['production/one_of_two', 'production/two_of_two']);
    expect((await staging.take(1)).map(seen)).toEqual(['staging/one_of_two']);
  });

  it('goes on behind afterSequence, and behind Last-Event-ID, which wins', async () => {
    for (const text of ['one', 'two', 'three', 'four']) await load('resumed', text);
    await using all = await stream({ agentKey: 'resumed', afterSequence: 0 });
    const changes = await all.take(4);
    const [first, second, third] = changes;
    await using later = await stream({ agentKey: 'resumed', afterSequence: second?.sequence });
    expect(await later.take(2)).toEqual(changes.slice(2));
    await using again = await stream(
      { agentKey: 'resumed', afterSequence: first?.sequence },
      { headers: { 'last-event-id': String(third?.sequence) } },
    );
    expect(await again.take(1)).toEqual(changes.slice(3));
    await load('resumed', 'five');
    expect((await again.take(1))[0]).toMatchObject({ knowledgeVersion: 'v5' });
    expect(again.lastEventId).toBe(String(await headOfLog()));
  });

  it('gives a reader who has seen nothing yet a place to come back to', async () => {
    await load('quiet', 'one');
    const head = await headOfLog();
    await using open = await stream({ agentKey: 'quiet' });
    await load('quiet', 'two');
    await open.take(1);
    const resumed = await stream({ agentKey: 'quiet' }, { headers: { 'last-event-id': String(head) } });
    expect((await resumed.take(1))[0]).toMatchObject({ knowledgeVersion: 'v2' });
    await resumed[Symbol.asyncDispose]();
    const raw = await fetch(`${server.url}/graphql`, streamInit({ agentKey: 'quiet' }));
    const reader = raw.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    expect(new TextDecoder().decode(value)).toBe(`:\nid: ${await headOfLog()}\n\n`);
    await reader?.cancel();
  });

  it('is read from the database where a reader is far behind, without losing or doubling any', async () => {
    await load('far', 'v1');
    const after = await headOfLog();
    await growLog(database, 'far', 450); // More than two pages.
    await using open = await stream({ agentKey: 'far', afterSequence: after });
    const changes = await open.take(450);
    expect(changes.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: 450 }, (_, index) => after + index + 1),
    );
    expect(changes.every(({ kind, knowledgeVersion }) => kind === 'HELD' && knowledgeVersion === 'v1')).toBe(
      true,
    );
  });
});

describe('a stream that cannot go on as asked', () => {
  it('says RESET ahead of the log, and where the log stands', async () => {
    await load('reset', 'one');
    await using ahead = await stream({ agentKey: 'reset', afterSequence: 2_000_000_000 });
    const [error, complete] = await ahead.rest();
    expect(error?.data).toMatchObject({
      errors: [{ extensions: { code: 'RESET', newest: await headOfLog() } }],
    });
    expect(complete).toEqual({ id: null, event: 'complete', data: null });
  });

  it('says what is wrong with a name, a number or an id', async () => {
    const codeOf = async (variables: object) => {
      await using open = await stream({ ...variables });
      const [event] = await open.rest();
      return event?.data.errors[0].extensions.code as string;
    };
    await load('named', 'one');
    expect(await codeOf({ agentKey: 'nobody' })).toBe('NOT_FOUND');
    expect(await codeOf({ agentKey: 'named', environment: 'moon' })).toBe('NOT_FOUND');
    expect(await codeOf({ environment: 'moon' })).toBe('NOT_FOUND');
    expect(await codeOf({ agentKey: 'named', afterSequence: -1 })).toBe('BAD_USER_INPUT');
    await using garbled = await stream({ agentKey: 'named' }, { headers: { 'last-event-id': 'x' } });
    expect(garbled.response.status).toBe(400);
  });

  it('is refused without the scope, and shows a bound key its own agents only', async () => {
    await load('mine', 'one');
    await load('yours', 'one');
    const writer = await makeKey(database, { scopes: ['runs:write'] });
    await using refused = await stream({ agentKey: 'mine' }, { key: writer });
    expect((await refused.next()).data.errors[0].extensions.code).toBe('FORBIDDEN');
    const bound = await makeKey(database, { scopes: ['knowledge:read'], agents: ['mine'] });
    await using foreign = await stream({ agentKey: 'yours' }, { key: bound });
    expect((await foreign.next()).data.errors[0].extensions.code).toBe('NOT_FOUND');
    await using own = await stream({}, { key: bound });
    await load('yours', 'two');
    await load('mine', 'two');
    expect(await own.take(1)).toMatchObject([{ agentKey: 'mine' }]);
  });

  it('answers no stream to a client that takes none, and keeps nothing open for it', async () => {
    await load('json', 'one');
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      const response = await fetch(`${server.url}/graphql`, streamInit({ agentKey: 'json' }, { accept }));
      expect(response.status).toBe(406);
      expect(await response.text()).toContain('text/event-stream');
    }
    expect(database.context().feed.callers).toHaveLength(0);
  });

  it('counts the price of what it asks for before it begins', async () => {
    const fields = Array.from({ length: 201 }, (_, index) => `f${index}: kind`).join(' ');
    await using open = await stream({}, { query: `subscription { packageChanged { ${fields} } }` });
    const [error] = await open.rest();
    expect(error?.data.errors[0]).toMatchObject({
      message: expect.stringContaining('fields'),
      extensions: { code: 'BAD_USER_INPUT' },
    });
  });
});

describe('clients that exist', () => {
  it("graphql-sse's own client is told", async () => {
    await load('sse', 'one');
    const client = createClient({
      url: `${server.url}/graphql`,
      headers: { authorization: `Bearer ${server.key}` },
      retryAttempts: 0,
    });
    const changes = client.iterate<{ packageChanged: Change }>({
      query: packageChanged,
      variables: { agentKey: 'sse', afterSequence: 0 },
    });
    expect((await changes.next()).value?.data?.packageChanged).toMatchObject({ knowledgeVersion: 'v1' });
    await load('sse', 'two');
    expect((await changes.next()).value?.data?.packageChanged).toMatchObject({ knowledgeVersion: 'v2' });
    await changes.return?.();
    const errors = client.iterate({ query: 'subscription { packageChanged { nothing } }' });
    expect((await errors.next()).value?.errors?.[0]?.extensions?.['code']).toBe('BAD_USER_INPUT');
    expect((await errors.next()).done).toBe(true);
    const query = client.iterate({ query: '{ activeVersion(agentKey: "sse") { knowledgeVersion } }' });
    expect((await query.next()).value?.data).toEqual({ activeVersion: { knowledgeVersion: 'v2' } });
    client.dispose();
  });

  it('curl -N is told, with POST and GET, without asking for a type', async () => {
    await load('curl', 'one');
    const query = 'subscription { packageChanged(agentKey: "curl", afterSequence: 0) { knowledgeVersion } }';
    const authorization = ['-H', `authorization: Bearer ${server.key}`];
    const ways = [
      [`${server.url}/graphql`, '-H', 'content-type: application/json', '-d', JSON.stringify({ query })],
      [`${server.url}/graphql?${new URLSearchParams({ query })}`, '-H', 'accept: text/event-stream'],
    ];
    for (const way of ways) {
      const curl = spawn('curl', ['-sN', ...authorization, ...way]);
      let output = '';
      curl.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
      await eventually(
        async () => output,
        (printed) => printed.includes('"knowledgeVersion":"v1"'),
      );
      curl.kill();
    }
  });
});

describe('a log that has grown since (last, since it makes the log long)', () => {
  it('cannot be followed from too far back, but from where that begins', async () => {
    await load('behind', 'one');
    await database.asSuperuser((client) =>
      client.query('update agent_knowledge.event_head set sequence = sequence + $1', [maxResumeEvents]),
    );
    await using behind = await stream({ agentKey: 'reset', afterSequence: 1 });
    expect((await behind.next()).data.errors[0]).toMatchObject({
      message: expect.stringContaining('Cannot go on after 1'),
      extensions: { code: 'RESET', oldest: expect.any(Number) },
    });
    await using within = await stream({
      agentKey: 'behind',
      afterSequence: (await headOfLog()) - maxResumeEvents,
    });
    await load('behind', 'two');
    expect((await within.take(1))[0]).toMatchObject({ knowledgeVersion: 'v2' });
  });
});

function streamInit(variables: object, headers: Record<string, string> = {}): RequestInit {
  return {
    method: 'POST',
    headers: {
      accept: 'text/event-stream',
      'content-type': 'application/json',
      authorization: `Bearer ${server.key}`,
      ...headers,
    },
    body: JSON.stringify({ query: packageChanged, variables }),
  };
}
