import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { nearest } from '../../src/cli/nearest.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { document } from '../support/registry-documents.ts';
import { makeCliPlace, usualAgent, type CliPlace } from './cli-place.ts';

let database: TestDatabase;
let place: CliPlace;

beforeAll(async () => {
  database = await createTestDatabase();
  place = await makeCliPlace(database);
  await place.putRegistry(document({ intake_triage: usualAgent(), deck_review: usualAgent() }));
  await place.run('refresh', 'intake_triage');
  await place.run('refresh', 'intake_triage', '--env', 'staging');
});

afterAll(async () => {
  await place[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

describe('a refusal names what helps', () => {
  it.each([
    ['versions intake-triage', 'Did you mean intake_triage? "npx agent-knowledge packages" lists them all.'],
    ['show intake', 'Did you mean intake_triage?'],
    ['hold deck_reviwe --reason x', 'Did you mean deck_review?'],
    ['versions zzz --env staging', '"npx agent-knowledge packages --env staging" lists them all.'],
    [
      'show intake_triage v9',
      'The newest is v1; "npx agent-knowledge versions intake_triage" lists them all.',
    ],
    ['activate intake_triage v9 --env staging', '"npx agent-knowledge versions intake_triage --env staging"'],
    ['show deck_review', 'It has no version yet: "npx agent-knowledge refresh deck_review" makes one.'],
    ['activate intake_triage v1 --expected v2', 'See "npx agent-knowledge versions intake_triage".'],
    ['packages --env prod', 'there are dev, staging, production.'],
    ['keys revoke 0123', 'See "npx agent-knowledge keys list".'],
  ])('%s: %s', async (line, words) => {
    const { code, out, err } = await place.run(...line.split(' '));
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toContain(words);
    expect(err).toMatch(/^agent-knowledge: [^\n]+\n$/);
  });

  it.each([
    [
      'packges',
      "unknown command 'packges' (Did you mean packages?)",
      'Usage: agent-knowledge [options] [command]',
    ],
    ['refresh --al', "unknown option '--al' (Did you mean --all?)", 'Usage: agent-knowledge refresh '],
    ['keys revok', "unknown command 'revok' (Did you mean revoke?)", 'Usage: agent-knowledge keys '],
    ['versions', "missing required argument 'agent'.", 'Usage: agent-knowledge versions '],
  ])('%s ends with 64, one sentence and the usage of that very command', async (line, words, usage) => {
    const { code, out, err } = await place.run(...line.split(' '));
    expect({ code, out }).toEqual({ code: 64, out: '' });
    const [sentence, shown, ...more] = err.trimEnd().split('\n');
    expect(sentence).toBe(`agent-knowledge: ${words}`);
    expect(shown?.startsWith(usage)).toBe(true);
    expect(more).toEqual([]);
  });

  it('names the command that ends a hold, to a person and not to a script', async () => {
    const held = ['hold', 'deck_review', '--reason', 'review'];
    expect((await place.run(...held)).err).toBe('');
    expect((await place.runOn(80, ...held, '--no-color')).err).toBe(
      '"npx agent-knowledge release deck_review" ends the hold.\n',
    );
    expect((await place.runOn(80, ...held, '--json')).err).toBe('');
    await place.run('release', 'deck_review');
  });
});

describe('with --json, stdout is one document, whatever happens', () => {
  it.each([
    ['versions nobody', 1, 'NOT_FOUND'],
    ['activate intake_triage v1 --expected v2', 1, 'CONFLICT'],
    ['refresh', 64, 'WRONG_USAGE'],
    ['packages --nonsense', 64, 'WRONG_USAGE'],
    ['nonsense', 64, 'WRONG_USAGE'],
    ['keys', 64, 'WRONG_USAGE'],
    ['hold intake_triage', 64, 'WRONG_USAGE'],
    ['doctor --root /nothing/here', 1, 'SOURCE_TROUBLE'],
  ])('%s ends with %i and %s', async (line, code, errorCode) => {
    const ended = await place.json(...line.split(' '));
    expect(ended).toMatchObject({ code, body: { error: { code: errorCode, message: expect.any(String) } } });
  });

  it('also where the settings are wrong, with every fault in the message', async () => {
    await using wrong = await makeCliPlace(null, { PORT: 'wrong', SETTLE: 'slow' });
    const { code, body } = await wrong.json('packages');
    expect({ code, body }).toMatchObject({ code: 1, body: { error: { code: 'WRONG_SETTINGS' } } });
    expect(JSON.stringify(body)).toMatch(/AGENT_KNOWLEDGE_SETTLE.*AGENT_KNOWLEDGE_PORT/);
  });

  it('and with no colours, also on a terminal', async () => {
    const { out } = await place.runOn(40, 'packages', '--json');
    expect(JSON.parse(out)).toMatchObject({ environment: 'production' });
    expect(out).not.toContain('\u001b');
  });
});

describe('the nearest name', () => {
  it.each([
    ['intake-triage', 'intake_triage'],
    ['INTAKE_TRIAGE', 'intake_triage'],
    ['intaek_triage', 'intake_triage'],
    ['deck', 'deck_review'],
    ['de', null],
    ['something_else', null],
  ])('to %s is %s', (word, found) => {
    expect(nearest(word, ['deck_review', 'intake_triage'])).toBe(found);
  });
});
