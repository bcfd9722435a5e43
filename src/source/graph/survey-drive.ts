import { setTimeout as sleep } from 'node:timers/promises';
import type { Asked, ContentFacts, DriveSurvey, Refusal } from '../../core/drive-survey.ts';
import { messageOf } from '../../core/errors.ts';
import { toTrouble } from './answer.ts';
import { isAsReported } from './as-reported.ts';
import { PassingTrouble } from './attempts.ts';
import type { DriveItem } from './drive-item.ts';
import type { BatchAnswer, Graph } from './graph.ts';
import { GraphError } from './graph-error.ts';
import { contentById, itemByPath, type DriveLocation } from './item-path.ts';
import { parseItem, textOf } from './parse-item.ts';
import { readTokenFacts } from './token-facts.ts';

export interface DriveToSurvey {
  readonly graph: Pick<Graph, 'call' | 'batch' | 'download' | 'waitsUntil'>;
  /** The token that the requests go out with. Throws `GraphError`. */
  readonly readToken: () => Promise<string>;
  /** Which drive and folder the settings mean. Throws `GraphError`. */
  readonly resolve: () => Promise<DriveLocation>;
  readonly clock: () => Date;
  /** Listed files, named from the root; the first that is there is read for trial. */
  readonly paths: readonly string[];
  readonly maxFileBytes: number;
  /** Patience with one question, its retries included. */
  readonly patienceMs?: number;
}

/** Long enough for a few retries, short enough for a person who waits. */
const usualPatienceMs = 20_000;

/** More than these say nothing new. */
const mostTried = 20;

/**
 * Asks the service everything that reading a drive stands on, one question after another, and writes nothing. What failed is
 * an answer too; what could only fail in its wake is not asked. Ends within six times the patience.
 */
export async function surveyDrive(input: DriveToSurvey): Promise<DriveSurvey> {
  const { graph, clock, patienceMs = usualPatienceMs } = input;
  const ask = <Answer>(question: () => Promise<Answer>): Promise<Asked<Answer>> =>
    askWithin(question, { patienceMs, clock, waitsUntil: () => graph.waitsUntil });
  const token = await ask(async () => readTokenFacts(await input.readToken()));
  const place = token.state === 'answered' ? await ask(input.resolve) : notAsked;
  if (place.state !== 'answered') return { ...nothing, token, place };
  const base = `/drives/${encodeURIComponent(place.answer.driveId)}`;
  let clockAheadMs: number | null = null;
  const drive = await ask(async () => {
    const answer = await graph.call({ target: base, units: 1 });
    if (answer.serverTime !== null) clockAheadMs = answer.serverTime - clock().getTime();
    return { name: textOf(answer.body, 'name'), type: textOf(answer.body, 'driveType') };
  });
  // The drive itself may be closed to an account that was let into a part of it.
  const isHopeless = drive.state === 'refused' && drive.trouble !== 'forbidden';
  const root = isHopeless
    ? notAsked
    : await ask(async () => {
        const { body } = await graph.call({ target: itemByPath(place.answer, ''), units: 1 });
        return { kind: parseItem(body).kind };
      });
  const isThere = root.state === 'answered';
  // Only a whole library is sure to tell its changes (D25), so that is what the daemon asks.
  const changes = isHopeless ? notAsked : await ask(() => askForChanges(graph, base));
  const content = isThere ? await ask(() => readFirst(input, place.answer)) : notAsked;
  return { token, place, drive, root, changes, content, clockAheadMs };
}

const notAsked = { state: 'not_asked' } as const;

const nothing = {
  drive: notAsked,
  root: notAsked,
  changes: notAsked,
  content: notAsked,
  clockAheadMs: null,
};

interface Patience {
  readonly patienceMs: number;
  /** Until when the service has asked everybody to wait; null where nobody waits. */
  readonly waitsUntil: () => Date | null;
  readonly clock: () => Date;
}

async function askWithin<Answer>(
  question: () => Promise<Answer>,
  patience: Patience,
): Promise<Asked<Answer>> {
  const answered = new AbortController();
  const late = tireOf(patience, answered.signal).then((refusal): Asked<Answer> => ({
    state: 'refused',
    ...refusal,
  }));
  const asked = question()
    .then((answer): Asked<Answer> => ({ state: 'answered', answer }))
    .catch((error: unknown): Asked<Answer> => ({ state: 'refused', ...refusalOf(error) }));
  try {
    return await Promise.race([asked, late]);
  } finally {
    late.catch(() => undefined);
    answered.abort();
  }
}

const stepMs = 100;

/** Resolves when the patience is over, or at once when the service asks for more than is left of it: then that is the answer. */
async function tireOf({ patienceMs, waitsUntil, clock }: Patience, signal: AbortSignal): Promise<Refusal> {
  const unsaid = { status: null, codes: [], requestId: null };
  for (let leftMs = patienceMs; leftMs > 0; leftMs -= stepMs) {
    await sleep(Math.min(stepMs, leftMs), undefined, { signal });
    const until = waitsUntil();
    if (until === null || until.getTime() - clock().getTime() <= leftMs) continue;
    const message = `The service asks to wait until ${until.toISOString()}.`;
    return { trouble: 'throttled', message, ...unsaid };
  }
  return { trouble: 'no_answer', message: `There was no answer within ${patienceMs / 1000} s.`, ...unsaid };
}

function refusalOf(error: unknown): Refusal {
  if (!(error instanceof GraphError))
    return { trouble: 'unavailable', message: messageOf(error), status: null, codes: [], requestId: null };
  const { trouble, message, status, codes, requestId } = error;
  return { trouble, message, status, codes, requestId };
}

async function askForChanges(graph: DriveToSurvey['graph'], base: string): Promise<null> {
  const { body, requestId } = await graph.call({ target: `${base}/root/delta?token=latest`, units: 2 });
  const isFeed = textOf(body, '@odata.deltaLink') !== null || textOf(body, '@odata.nextLink') !== null;
  if (!isFeed) throw new GraphError('protocol', 'The answer has no link to go on with.', { requestId });
  return null;
}

/**
 * The first listed file that is there, read and compared with what the drive says of it; null where none is there. Throws
 * where one was refused and none could be read: that is no word about whether it is there.
 */
async function readFirst(input: DriveToSurvey, location: DriveLocation): Promise<ContentFacts | null> {
  const paths = input.paths.slice(0, mostTried);
  const targets = paths.map((path) => itemByPath(location, path));
  const answers = await input.graph.batch(targets.map((path) => ({ path })));
  let refused: GraphError | null = null;
  for (const [index, answer] of answers.entries()) {
    const { status, body } = answer;
    if (status !== 200 && status !== 404) refused ??= stepTrouble(answer, input.clock().getTime());
    const path = paths[index];
    if (status !== 200 || path === undefined) continue;
    const item = parseItem(body);
    if (item.kind !== 'file') continue;
    const content = contentById(location.driveId, item.id);
    const { bytes, whole } = await input.graph.download(content, input.maxFileBytes);
    return { path, sizeBytes: bytes.length, isAsReported: whole ? compare(item, bytes) : null };
  }
  if (refused !== null) throw refused;
  return null;
}

function stepTrouble({ status, headers, body, requestId }: BatchAnswer, nowMs: number): GraphError {
  const found = toTrouble('A question about a listed file', { status, headers, body }, nowMs);
  const { trouble, message, codes } = found instanceof PassingTrouble ? found.trouble : found;
  return new GraphError(status === 429 ? 'throttled' : trouble, message, { status, codes, requestId });
}

/** Null where the drive says neither length nor hash. */
function compare(item: DriveItem, bytes: Uint8Array): boolean | null {
  return item.quickXorHash === null && item.sizeBytes === null ? null : isAsReported(item, bytes);
}
