import DataLoader from 'dataloader';
import pLimit from 'p-limit';
import { fieldOf, readCodes } from './answer.ts';
import type { DriveItem } from './drive-item.ts';
import { GraphError } from './graph-error.ts';
import type { BatchAnswer, Graph } from './graph.ts';
import { isFacet, parseItem } from './parse-item.ts';

/** What was answered about one item: the item, or why there is none. */
export type ItemAnswer =
  | {
      readonly state: 'item';
      readonly item: DriveItem;
      /** The service holds it for malware and gives it to nobody (C14). */
      readonly isMalware: boolean;
      /** Only ever a reason to look closer (D26); null where it is not said. */
      readonly childCount: number | null;
    }
  | ({ readonly state: 'refused' } & ItemRefusal);

export interface ItemRefusal {
  readonly status: number;
  /** The outermost first. */
  readonly codes: readonly string[];
  readonly requestId: string | null;
}

/** As many steps as one batch takes (B1), and batches under way at once. */
const stepsPerBatch = 20;
const batchesAtOnce = 3;

/**
 * Reads items by their paths below `/v1.0`. What several looks ask for meanwhile goes out together, and what two of them
 * ask for before it has gone out is asked once: no answer is older than the question.
 */
export class ItemReader {
  readonly #graph: Pick<Graph, 'batch'>;
  readonly #loader: DataLoader<string, ItemAnswer>;
  readonly #limit = pLimit(batchesAtOnce);
  #underWay: Promise<unknown> = Promise.resolve();

  constructor(graph: Pick<Graph, 'batch'>) {
    this.#graph = graph;
    this.#loader = new DataLoader((targets) => this.#send(targets), {
      maxBatchSize: stepsPerBatch,
      batchScheduleFn: (dispatch) => this.#schedule(dispatch),
    });
  }

  /** Throws `GraphError` where it was not answered at all. */
  read(target: string): Promise<ItemAnswer> {
    return this.#loader.load(target);
  }

  /** A batch fills while it waits for its turn. */
  #schedule(dispatch: () => void): void {
    setImmediate(() => {
      void this.#limit(async () => {
        dispatch();
        await this.#underWay.catch(() => undefined);
      });
    });
  }

  #send(targets: readonly string[]): Promise<ItemAnswer[]> {
    // From here on a question is a new one.
    for (const target of targets) this.#loader.clear(target);
    const sent = this.#graph
      .batch(targets.map((path) => ({ path })))
      .then((answers) => targets.map((_, index) => readAnswer(answers[index])));
    this.#underWay = sent;
    return sent;
  }
}

function readAnswer(answer: BatchAnswer | undefined): ItemAnswer {
  if (answer === undefined) throw new GraphError('protocol', 'A step of a batch was left without an answer.');
  const { status, body, requestId } = answer;
  if (status >= 200 && status < 300) {
    const count = fieldOf(fieldOf(body, 'folder'), 'childCount');
    return {
      state: 'item',
      item: parseItem(body),
      isMalware: isFacet(body, 'malware'),
      childCount: typeof count === 'number' ? count : null,
    };
  }
  const codes = readCodes(body);
  // These say nothing of the item, and outlasted their retries.
  if (status === 429 || status >= 500 || status === 408) {
    const message = `A batch of questions to Microsoft Graph was answered with status ${status} for one of them.`;
    const trouble = status === 429 ? 'throttled' : 'unavailable';
    throw new GraphError(trouble, message, { status, codes, requestId });
  }
  return { state: 'refused', status, codes, requestId };
}
