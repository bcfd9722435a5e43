// Checks the audit log's chain of hashes by its rule alone. Any Node.js from 20 on, nothing to install. Beside `npm start`:
//   node docs/examples/check-log.mjs [SEQUENCE:HASH]      an entry you have written down before must still be there
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const url = process.env.KNOWLEDGE_URL ?? 'http://127.0.0.1:4000/graphql';
const key = readFileSync(process.env.KNOWLEDGE_KEY_FILE ?? '.data/admin-key', 'utf8').trim();
const noted = process.argv[2];

function fail(message) {
  console.error(message);
  process.exit(1);
}

/** The hash of an entry: the byte 1, then each field as its length in four bytes and its text; absent: four bytes 255. */
function hashOf(entry) {
  const hash = createHash('sha256').update(Uint8Array.of(1));
  const { epoch, sequence, previousHash, timeMicros, actorId, action, agentKey, environment, subject } =
    entry;
  const place = [epoch, sequence, previousHash, timeMicros, actorId, action];
  for (const field of [...place, agentKey, environment, subject, entry.details]) {
    const text = Buffer.from(String(field ?? ''));
    const length = Buffer.alloc(4, 255);
    if (field !== null) length.writeUInt32BE(text.length);
    hash.update(length).update(text);
  }
  return hash.digest('hex');
}

/** One page of the log, newest first. */
async function readPage(after) {
  const query = `query ($after: String) { auditEvents(first: 200, after: $after) { pageInfo { hasNextPage endCursor }
    nodes { epoch sequence previousHash timeMicros actorId action agentKey environment subject details hash } } }`;
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
  const body = JSON.stringify({ query, variables: { after } });
  const answer = await (await fetch(url, { method: 'POST', headers, body })).json();
  if (answer.errors) fail(answer.errors[0].message);
  return answer.data.auditEvents;
}

const entries = [];
for (let page, after = null; !page || page.pageInfo.hasNextPage; after = page.pageInfo.endCursor) {
  page = await readPage(after);
  entries.unshift(...page.nodes.toReversed());
}
let previous = { sequence: 0, hash: '0'.repeat(64) };
for (const entry of entries) {
  const follows = entry.sequence === previous.sequence + 1 && entry.previousHash === previous.hash;
  if (!follows) fail(`Entry ${entry.sequence} does not follow entry ${previous.sequence}.`);
  if (hashOf(entry) !== entry.hash) fail(`Entry ${entry.sequence} is not what was written.`);
  previous = entry;
}
const isThere = entries.some(({ sequence, hash }) => `${sequence}:${hash}` === noted);
if (noted !== undefined && !isThere) fail(`Entry ${noted} is not in the log.`);
console.log(
  `${entries.length} entries, each as it was written and behind the one before. Write down the last one:`,
);
console.log(`${previous.sequence}:${previous.hash}`);
