import { messageOf } from '../../src/core/errors.ts';
import { GraphError } from '../../src/source/graph/graph-error.ts';

/** What is told of trouble with a drive: with the code and the request by which Microsoft's support finds it, unless the sentence has them. */
export function describeTrouble(error: unknown): string {
  const message = messageOf(error);
  if (!(error instanceof GraphError)) return message;
  const { codes, requestId } = error;
  const code = codes[0] ?? null;
  const facts = [
    code !== null && !message.includes(code) ? code : null,
    requestId !== null && !message.includes(requestId) ? `request ${requestId}` : null,
  ].filter((fact) => fact !== null);
  return facts.length === 0 ? message : `${message} (${facts.join(', ')})`;
}
