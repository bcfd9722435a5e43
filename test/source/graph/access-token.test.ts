import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { generate } from 'selfsigned';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readClaims } from '../../../src/source/graph/access-token.ts';
import { chooseIdentity } from '../../../src/source/graph/identity.ts';
import { lateTrouble, toTokenTrouble } from '../../../src/source/graph/token-trouble.ts';

const secret = 'canary-secret-1';
let folder: string;
let url: string;
/** How the authority and the service behave, and what they were asked. */
const stage = { tokenStatus: 200, goodToken: 't2', tokens: [] as string[], sent: [] as string[] };
const server = { close: async (): Promise<void> => undefined };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agent-knowledge-token-'));
  const pems = await generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  });
  await writeFile(join(folder, 'ca.pem'), pems.cert);
  const https = createServer({ key: pems.private, cert: pems.cert }, (request, response) => {
    const path = request.url ?? '';
    const say = (status: number, body: unknown, headers = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify(body));
    };
    if (path.includes('openid-configuration')) return say(200, openIdOf(url));
    if (/\/token(?:\?|$)/.test(path)) {
      let form = '';
      request.on('data', (chunk: Buffer) => (form += chunk.toString()));
      request.on('end', () => {
        stage.tokens.push(form);
        if (stage.tokenStatus !== 200) return say(stage.tokenStatus, refusal);
        return say(200, { token_type: 'Bearer', expires_in: 3599, access_token: `t${stage.tokens.length}` });
      });
      return undefined;
    }
    if (path.endsWith('/$batch')) {
      const status = request.headers.authorization === `Bearer ${stage.goodToken}` ? 200 : 401;
      request.resume();
      return say(200, { responses: ['0', '1', '2'].map((id) => ({ id, status, headers: {}, body: {} })) });
    }
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    stage.sent.push(token);
    if (token === stage.goodToken) return say(200, { fine: true });
    return say(
      401,
      {},
      { 'www-authenticate': `Bearer realm="", error="insufficient_claims", claims="${challenge}"` },
    );
  });
  await new Promise<void>((resolve) => https.listen(0, '127.0.0.1', resolve));
  url = `https://localhost:${(https.address() as AddressInfo).port}`;
  server.close = async () => {
    https.closeAllConnections();
    await new Promise((resolve) => https.close(resolve));
  };
});
afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const challenge = Buffer.from('{"access_token":{"nbf":{"value":"1"}}}').toString('base64');
const refusal = {
  error: 'invalid_client',
  error_description: `AADSTS7000215: Invalid secret ${secret}.`,
  error_codes: [7000215],
};

function openIdOf(base: string) {
  const tenant = `${base}/contoso`;
  return {
    issuer: `${tenant}/v2.0`,
    authorization_endpoint: `${tenant}/oauth2/v2.0/authorize`,
    token_endpoint: `${tenant}/oauth2/v2.0/token`,
    jwks_uri: `${tenant}/keys`,
  };
}

async function callInChild(calls: number | 'batch', change: Partial<typeof stage>): Promise<unknown[]> {
  Object.assign(stage, { tokenStatus: 200, goodToken: 't2', tokens: [], sent: [] }, change);
  const script = join(import.meta.dirname, '../../support/graph-in-child.ts');
  const env = {
    PATH: process.env['PATH'],
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
    AZURE_TENANT_ID: 'contoso',
    AZURE_CLIENT_ID: 'app',
    AZURE_CLIENT_SECRET: secret,
  };
  const { stdout } = await promisify(execFile)(process.execPath, [script, url, String(calls)], { env });
  return JSON.parse(stdout) as unknown[];
}

describe('a token from the variables of @azure/identity', () => {
  it('is renewed once for all who were refused, with the claims of the challenge (T8, F67, graph.md 5)', async () => {
    expect(await callInChild(3, {})).toEqual([{ fine: true }, { fine: true }, { fine: true }]);
    expect(stage.tokens).toHaveLength(2);
    expect(stage.tokens[0]).toContain(encodeURIComponent(`${url}/.default`));
    expect(decodeURIComponent(stage.tokens[1] ?? '')).toContain('nbf');
    expect(stage.sent).toEqual(['t1', 't1', 't1', 't2', 't2', 't2']);
  });

  it('is renewed once for all steps of a batch that were refused (B1, T8)', async () => {
    const answers = await callInChild('batch', {});
    expect(answers).toMatchObject([{ status: 200 }, { status: 200 }, { status: 200 }]);
    expect(stage.tokens).toHaveLength(2);
  });

  it('is asked for no third time where the new one is refused too (F67)', async () => {
    expect(await callInChild(1, { goodToken: 'none' })).toMatchObject([
      { trouble: 'credentials', status: 401 },
    ]);
    expect([stage.tokens.length, stage.sent]).toEqual([2, ['t1', 't2']]);
  });

  it('that is refused says its codes and no words, and one that cannot be had is no refusal', async () => {
    const [refused] = await callInChild(1, { tokenStatus: 401 });
    expect(refused).toMatchObject({ trouble: 'credentials' });
    expect(JSON.stringify(refused)).toContain('AADSTS7000215');
    expect(JSON.stringify(refused)).not.toContain(secret);
    expect(await callInChild(1, { tokenStatus: 503 })).toMatchObject([{ trouble: 'unavailable' }]);
    expect(stage.sent).toEqual([]);
  });
});

describe('why there is no token, as the library tells it', () => {
  const trouble = (facts: object, isManaged = false) =>
    toTokenTrouble(Object.assign(new Error('x'), facts), isManaged);
  const required = { name: 'AuthenticationRequiredError' };

  it.each([
    ['its authority out of reach', { name: 'CredentialUnavailableError' }, 'unavailable'],
    ['a connection that broke', { ...required, cause: { errorCode: 'network_error' } }, 'unavailable'],
    ['an answer without a token', required, 'unavailable'],
    ['a failing authority', { ...required, cause: { name: 'ServerError', status: 503 } }, 'unavailable'],
    ['a refusal', { ...required, cause: { name: 'ServerError', status: 400, errorNo: 7 } }, 'credentials'],
    ['a certificate that is not there', { code: 'ENOENT' }, 'credentials'],
  ])('%s', (_, facts, kind) => {
    expect(trouble(facts).trouble).toBe(kind);
  });

  it('a machine without an identity is a matter of the settings', () => {
    const nobody = trouble({ name: 'CredentialUnavailableError' }, true);
    expect(nobody.trouble).toBe('credentials');
    // Whoever has set nothing is told what is missing (K-007), also where a machine's identity never answers.
    expect([nobody.message, lateTrouble(true).message]).toEqual([
      expect.stringMatching(/AZURE_TENANT_ID.*AGENT_KNOWLEDGE_GRAPH_TOKEN/),
      expect.stringMatching(/AZURE_TENANT_ID.*AGENT_KNOWLEDGE_GRAPH_TOKEN/),
    ]);
    expect(lateTrouble(false).trouble).toBe('unavailable');
  });
});

describe('which identity the variables stand for', () => {
  const app = { AZURE_TENANT_ID: 't', AZURE_CLIENT_ID: 'c' };
  it.each([
    [{ ...app, AZURE_CLIENT_SECRET: 's' }, 'secret'],
    [{ ...app, AZURE_CLIENT_CERTIFICATE_PATH: '/c' }, 'certificate'],
    [{ ...app, AZURE_FEDERATED_TOKEN_FILE: '/f' }, 'workload'],
    [{ AZURE_CLIENT_ID: 'c' }, 'managed'],
    [{}, 'managed'],
  ])('%o: %s', (variables, kind) => {
    expect(chooseIdentity(variables)).toBe(kind);
  });

  it('names what is missing', () => {
    expect(() => chooseIdentity({ AZURE_CLIENT_SECRET: 's' })).toThrow('AZURE_TENANT_ID and AZURE_CLIENT_ID');
    expect(() => chooseIdentity(app)).toThrow('AZURE_CLIENT_SECRET');
  });

  it('reads the claims of a challenge, and none from what is none (T8)', () => {
    expect(readClaims(`Bearer claims="${challenge}"`)).toBe('{"access_token":{"nbf":{"value":"1"}}}');
    expect(readClaims('Bearer claims="@@"')).toBe(null);
    expect(readClaims('Bearer claims="aGVsbG8="')).toBe(null);
  });
});
