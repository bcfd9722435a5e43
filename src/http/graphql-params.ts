import { parseJson, requireJson } from './json-body.ts';
import { Refusal } from './refusal.ts';

/** What GraphQL over HTTP carries. */
export interface GraphqlParams {
  readonly query?: string;
  readonly operationName?: string;
  readonly variables?: Record<string, unknown>;
  readonly extensions?: Record<string, unknown>;
}

/** The parameters of a POST; only JSON is taken, since a page of another site can send every other type unasked. */
export function parsePost(contentType: string | undefined, body: string): GraphqlParams {
  requireJson(contentType);
  return checkParams(parseJson(body, 'The body'));
}

/** The parameters of a GET, from its query string. */
export function parseGet(search: string): GraphqlParams {
  const found = new URLSearchParams(search);
  const names = [...found.keys()];
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Refusal(400, `The parameter ${JSON.stringify(twice)} is given twice.`);
  const entries = [...found].filter(([, value]) => value !== '');
  return checkParams(
    Object.fromEntries(
      entries.map(([name, value]) => [
        name,
        name === 'variables' || name === 'extensions' ? parseJson(value, name) : value,
      ]),
    ),
  );
}

const textParams = ['query', 'operationName'] as const;
const objectParams = ['variables', 'extensions'] as const;

function checkParams(value: unknown): GraphqlParams {
  if (Array.isArray(value)) throw new Refusal(400, 'Batches are not accepted: send one operation at a time.');
  if (!isObject(value)) throw new Refusal(400, 'The body must be a JSON object with the member query.');
  for (const name of Object.keys(value)) {
    if (![...textParams, ...objectParams].some((known) => known === name)) {
      throw new Refusal(400, `${JSON.stringify(name.slice(0, 40))} is no parameter of GraphQL over HTTP.`);
    }
  }
  for (const name of textParams) check(value[name], name, 'a string', (given) => typeof given === 'string');
  for (const name of objectParams) check(value[name], name, 'an object', isObject);
  if (isAbsent(value['query'])) throw new Refusal(400, 'The member query is missing: it holds the document.');
  return Object.fromEntries(Object.entries(value).filter(([, given]) => !isAbsent(given)));
}

function check(value: unknown, name: string, expected: string, fits: (value: unknown) => boolean): void {
  if (isAbsent(value) || fits(value)) return;
  throw new Refusal(400, `${name} must be ${expected}.`);
}

/** JSON's null and a member that is not there mean the same. */
function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
