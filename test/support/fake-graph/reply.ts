import { randomUUID } from 'node:crypto';

/** A request as the parts of the stand-in see it; a step of a batch is one too. */
export interface Asked {
  readonly origin: 'graph' | 'content' | 'authority';
  readonly method: string;
  /** Path and query as they came over the wire, without `/v1.0`. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly batched: boolean;
  /** Path of the item it is about, such as `/Folder/file.md`, where that is known; for what a fault matches. */
  readonly subject: string | null;
}

/** What is answered: an object as JSON, bytes or text as they are. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The error of Microsoft Graph, with the codes at both depths. */
export function refusal(
  status: number,
  code: string,
  more: { readonly innerCode?: string; readonly headers?: Readonly<Record<string, string>> } = {},
): Reply {
  const innerError = {
    ...(more.innerCode !== undefined && { code: more.innerCode }),
    date: new Date().toISOString().slice(0, 19),
    'request-id': randomUUID(),
    'client-request-id': randomUUID(),
  };
  const message = `The stand-in refuses this with ${status}.`;
  return { status, headers: more.headers ?? {}, body: { error: { code, message, innerError } } };
}

export const itemNotFound = (): Reply => refusal(404, 'itemNotFound');

/** What a page says that is no JSON. */
export const htmlPage = '<!DOCTYPE html><html><body><h1>Something else</h1></body></html>';

/** Decodes what was encoded; what is no encoding stays as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
