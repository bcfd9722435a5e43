import { isUtf8 } from 'node:buffer';
import type { Exchange } from './exchange.ts';
import { Refusal } from './refusal.ts';

/** Bytes of a request's body at most; a document of 1,000 tokens and its variables are far below (T35). */
export const maxBodyBytes = 256 * 1024;

/** What is read and thrown away of a body that is too large, so that its sender gets to read the refusal. */
const maxDrainedBytes = 1024 * 1024;

/**
 * The body as text, exactly as sent. Refused: more than 256 KiB (413), any content encoding (415), and bytes that are
 * no UTF-8 or begin with a byte-order mark (400), which would otherwise be repaired in silence (F71).
 */
export async function readBody({ request }: Exchange): Promise<string> {
  const encoding = request.headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new Refusal(415, 'The body must not be compressed or encoded.', { headers: closing });
  }
  const bytes = await readBytes(request);
  if (!isUtf8(bytes)) throw new Refusal(400, 'The body must be UTF-8; it holds bytes that are not.');
  if (bytes.subarray(0, 3).equals(byteOrderMark)) {
    throw new Refusal(400, 'The body must be UTF-8 without a byte-order mark.');
  }
  return bytes.toString('utf8');
}

async function readBytes(request: Exchange['request']): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxDrainedBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop must not destroy the request, whose socket carries the refusal.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += chunk.length;
    if (size <= maxBodyBytes) chunks.push(chunk);
    if (size > maxDrainedBytes) break;
  }
  if (size > maxBodyBytes) throw tooLarge();
  return Buffer.concat(chunks);
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

/** What was not read must not be taken for the next request. */
const closing = { connection: 'close' } as const;

function tooLarge(): Refusal {
  return new Refusal(413, `The body may have ${maxBodyBytes} bytes at most.`, { headers: closing });
}
