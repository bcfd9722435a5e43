import { fieldOf } from './answer.ts';
import { GraphError } from './graph-error.ts';

/**
 * Why there is no token: `credentials` where the authority refuses or a file is amiss, `unavailable` where it does not answer.
 * Its codes are kept, its words are not: they hold names and addresses.
 *
 * `isManaged`: an identity of the machine that is not there is a matter of the settings. Elsewhere the library says the same
 * of an authority that cannot be reached.
 */
export function toTokenTrouble(error: unknown, isManaged: boolean): GraphError {
  const chain = causesOf(error);
  const codes = [...new Set(chain.flatMap(codesOf))];
  const status = chain.map(statusOf).find((one) => one !== null) ?? null;
  const named = codes.length === 0 ? '' : ` (${codes.join(', ')})`;
  const facts = { status, codes };
  if (!isAway(chain, status, isManaged)) {
    const message = isManaged ? nobody : 'No token is given for these credentials';
    return new GraphError('credentials', `${message}${named}.`, facts);
  }
  return new GraphError(
    'unavailable',
    `The authority that gives tokens does not answer, or does not know this tenant${named}.`,
    facts,
  );
}

/** Mostly somebody who has set nothing yet, and is no machine in Azure: what is missing is named (K-007). */
const nobody =
  'No credentials are set: AZURE_TENANT_ID and AZURE_CLIENT_ID with AZURE_CLIENT_CERTIFICATE_PATH, AZURE_CLIENT_SECRET or AZURE_FEDERATED_TOKEN_FILE, or AGENT_KNOWLEDGE_GRAPH_TOKEN; and this machine has no managed identity that is given a token';

/** Why there is no token in time: where nothing is set, a machine outside Azure waits for nobody. */
export function lateTrouble(isManaged: boolean): GraphError {
  if (isManaged) return new GraphError('credentials', `${nobody}.`);
  return new GraphError('unavailable', 'No token was given in time.');
}

function isAway(chain: readonly unknown[], status: number | null, isManaged: boolean): boolean {
  if (status !== null) return status >= 500 || status === 429 || status === 408;
  const names = chain.map((one) => textOf(one, 'name'));
  if (names.includes('CredentialUnavailableError')) return !isManaged;
  const isUnreadable = names.at(-1) === 'AuthenticationRequiredError';
  return isUnreadable || chain.some((one) => isNetwork(textOf(one, 'code') || textOf(one, 'errorCode')));
}

function isNetwork(code: string): boolean {
  return /^(?:ECONN\w+|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EPIPE|EHOST\w+|ENET\w+|REQUEST_SEND_ERROR|PARSE_ERROR|network_error)$/.test(
    code,
  );
}

function causesOf(error: unknown): unknown[] {
  const chain: unknown[] = [];
  for (
    let one = error;
    typeof one === 'object' && one !== null && chain.length < 8;
    one = fieldOf(one, 'cause')
  )
    chain.push(one);
  return chain;
}

function statusOf(error: unknown): number | null {
  const status = fieldOf(error, 'statusCode') ?? fieldOf(error, 'status');
  return typeof status === 'number' ? status : null;
}

/** The word of the error, and the numbers by which Microsoft's documentation explains it. */
function codesOf(error: unknown): string[] {
  const response = fieldOf(error, 'errorResponse');
  const numbers = [fieldOf(response, 'errorCodes'), fieldOf(error, 'errorNo')].flat();
  const words = [textOf(response, 'error'), textOf(error, 'errorCode')].filter((word) =>
    /^\w{1,60}$/.test(word),
  );
  return [
    ...words,
    ...numbers.filter((one) => /^\d{1,10}$/.test(String(one))).map((one) => `AADSTS${String(one)}`),
  ];
}

function textOf(value: unknown, name: string): string {
  const text = fieldOf(value, name);
  return typeof text === 'string' ? text : '';
}
