// A runtime that follows its agent's knowledge; nothing to install. Beside `npm start`, with any Node.js from 20 on:
//   npx node docs/examples/runtime.ts      (elsewhere: node runtime.ts, with Node.js 22.18 or newer)
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

const {
  KNOWLEDGE_URL: url = 'http://127.0.0.1:4000/graphql',
  KNOWLEDGE_KEY_FILE: keyFile = '.data/admin-key', // A real runtime has a key of its own, which only reads.
  KNOWLEDGE_AGENT: agentKey = 'intake_triage',
  KNOWLEDGE_ENVIRONMENT: environment, // Left out: the server's default one.
} = process.env;

type File = { relativePath: string; checksum: string; content: string };
type Version = { knowledgeVersion: string; checksum: string; generation: number; files: File[] };
type Answer = {
  data: { activeVersion: Version; packageChanged: object };
  errors?: { message: string; extensions: { code: string } }[];
};

let copy: Version | undefined; // What the agent runs on; without one it must not run.
let confirmedAt = 0; // When the copy was last known to be the active version.
let lastEventId = ''; // Where in the log this runtime is.
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => stop.abort());

/** Where your model gets its knowledge: the files in this order, as they are. */
function give({ knowledgeVersion, checksum, files }: Version) {
  const prompt = files.map((file) => file.content).join('\n');
  console.log(`The model gets ${knowledgeVersion} (${checksum.slice(0, 12)}…), ${prompt.length} characters:`);
  for (const file of files) console.log(`  ${file.relativePath}`);
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

/** Every file must be the one that was captured, and the bundle exactly these files in this order. */
function check({ knowledgeVersion, checksum, files }: Version) {
  const sums = files.map((file) => `${sha256(file.content)}  ${file.relativePath}\n`).join('');
  const damaged = files.filter((file) => sha256(file.content) !== file.checksum);
  if (damaged.length > 0 || sha256(sums) !== checksum) throw new Error(`${knowledgeVersion} arrived damaged`);
}

async function ask(query: string, signal: AbortSignal, headers = {}) {
  const authorization = `Bearer ${(await readFile(keyFile, 'utf8')).trim()}`;
  const variables = { agentKey, environment, seen: copy?.generation };
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization, ...headers },
    body: JSON.stringify({ query, variables }),
    signal: AbortSignal.any([signal, stop.signal]),
  });
}

/** What an answer holds; throws what it refuses, with its code as the error's name. */
function dataOf(answer: unknown) {
  const { data, errors: [error] = [] } = answer as Answer;
  if (error) throw Object.assign(new Error(error.message), { name: error.extensions.code });
  return data;
}

/** Reads the active version; the one before stays in use until the new one has been checked. */
async function read() {
  const query = `query ($agentKey: String!, $environment: String, $seen: Int) {
    activeVersion(agentKey: $agentKey, environment: $environment, minGeneration: $seen) {
      knowledgeVersion checksum generation files { relativePath checksum content } } }`;
  const { activeVersion } = dataOf(await (await ask(query, AbortSignal.timeout(30_000))).json());
  check(activeVersion);
  if (activeVersion.checksum !== copy?.checksum) give(activeVersion);
  [copy, confirmedAt] = [activeVersion, Date.now()];
}

/** Follows the changes until the connection ends. Subscribes first and reads then, so that nothing falls between. */
async function follow() {
  const silence = new AbortController(); // The server says something every 15 seconds.
  const timer = setTimeout(() => silence.abort(new Error('Nothing heard for 45 seconds')), 45_000);
  const query = `subscription ($agentKey: String, $environment: String) {
    packageChanged(agentKey: $agentKey, environment: $environment) { kind knowledgeVersion sequence } }`;
  const headers = { accept: 'text/event-stream', ...(lastEventId && { 'last-event-id': lastEventId }) };
  try {
    const response = await ask(query, silence.signal, headers);
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) dataOf(await response.json());
    if (response.ok) await read(); // Else the stream says why in its first event.
    let text = ''; // What came of an event that is not complete yet.
    for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      timer.refresh();
      confirmedAt = Date.now();
      const events = (text + piece).split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        const change = /^data: (.+)$/m.exec(event)?.[1];
        if (change) console.log('Changed:', JSON.stringify(dataOf(JSON.parse(change)).packageChanged));
        if (change) await read();
        lastEventId = /^id: (.+)$/m.exec(event)?.[1] ?? lastEventId;
      }
    }
    throw new Error('The server ended the stream');
  } finally {
    clearTimeout(timer);
  }
}

for (let failures = 0; !stop.signal.aborted; failures += 1) {
  const heardBefore = confirmedAt;
  const error: Error = await follow().catch((thrown) => thrown);
  if (stop.signal.aborted) break;
  if (error.name === 'UNAUTHENTICATED' || error.name === 'FORBIDDEN') copy = undefined; // A key that has ended.
  if (error.name === 'RESET') lastEventId = ''; // The log cannot go on from there: begin anew.
  if (error.name === 'NOT_FOUND') copy = undefined; // There is nothing to give: the agent must not run.
  const age = Math.round((Date.now() - confirmedAt) / 1000);
  const left = copy ? `${copy.knowledgeVersion} stays in use, current ${age} s ago` : 'Do not run the agent';
  console.log(`${left}: ${error.message}`);
  if (confirmedAt > heardBefore) failures = 0;
  await wait(Math.min(2 ** failures, 30) * 1000, undefined, { signal: stop.signal }).catch(() => undefined);
}
