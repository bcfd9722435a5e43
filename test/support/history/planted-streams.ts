import { came, cutAfter, followed, place, retold } from './made-stream.ts';
import { MadeHistory } from './made-history.ts';
import { planted, type Planted, type PlantedFault } from './planted.ts';
import type { CameLine, StreamedChange, Subscriber } from './stream-record.ts';

/** v1, v2, v3 and back to v1, followed all along. */
const made = () => new MadeHistory().refresh('one').refresh('two').read().refresh('three').activate(1);

const heard = (history: MadeHistory, ...streams: readonly Subscriber[]): Planted => ({
  ...planted(history),
  streams,
});

const told = (change: (told: readonly CameLine[]) => readonly (CameLine | ReturnType<typeof place>)[]) =>
  heard(made(), retold(followed(made()), change));

/** The change at this place of the stream, told otherwise. */
const toldOtherwise = (index: number, change: Partial<StreamedChange>) =>
  told((lines) => lines.with(index, { ...lines[index]!, change: { ...lines[index]!.change, ...change } }));

/** Faults of streams: C8. */
export const plantedStreams: readonly PlantedFault[] = [
  [
    'two changes in the other order',
    /^C8, alpha\/production, change 2 to follower: expected a number above 3; found number 2/,
    () => told(([first, second, third, ...rest]) => [first!, third!, second!, ...rest]),
  ],
  [
    'a change told twice on one connection',
    /^C8, .*change 2 to follower: expected each change once/,
    () => told(([first, second, ...rest]) => [first!, second!, second!, ...rest]),
  ],
  [
    'a change told again after the subscriber has come back behind it',
    /^C8, .*change 2 to follower: expected each change once/,
    () => {
      const { segments, ...subscriber } = cutAfter(followed(made()), 2);
      const [before, after] = segments;
      const again = { ...after!, told: [before!.told[1]!, ...after!.told] };
      return heard(made(), { ...subscriber, segments: [before!, again] });
    },
  ],
  [
    'a change left out',
    /^C8, .*change 2 to follower: expected every change behind 0 and up to 4; found not this one/,
    () => told((lines) => lines.toSpliced(1, 1)),
  ],
  [
    'a change lost while the subscriber was away',
    /^C8, .*change 3 to follower: expected every change/,
    () => {
      const { segments, ...subscriber } = cutAfter(followed(made()), 2);
      const [before, after] = segments;
      return heard(made(), { ...subscriber, segments: [before!, { ...after!, told: after!.told.slice(1) }] });
    },
  ],
  [
    'a stream that falls silent before the end of the run',
    /^C8, .*change 4 to follower: expected every change/,
    () => told((lines) => lines.slice(0, -1)),
  ],
  [
    'a sign of life that counts a change as told before it was',
    /^C8, .*change 2 to follower: expected a number above 2; found number 2/,
    () => told(([first, second, ...rest]) => [first!, place(2, second!.at), second!, ...rest]),
  ],
  [
    'a sign of life that goes back',
    /^C8, every package, its place to follower: expected a number above 2; found number 1/,
    () => told(([first, second, ...rest]) => [first!, second!, place(1, second!.at), ...rest]),
  ],
  [
    'a change with another id than its number',
    /^C8, .*change 2 to follower: expected the id 7/,
    () => told((lines) => lines.with(1, { ...lines[1]!, id: 7 })),
  ],
  [
    'a change before anybody had asked for it',
    /^C8, .*change 4 to follower: expected it after its commit, .*activate of v1 call-5 by writer began/,
    () => told((lines) => lines.with(3, { ...lines[3]!, at: 450 })),
  ],
  [
    'a change that a later reader was not shown',
    /^C8, .*change 3 to follower: expected it after its commit, .*read call-3 by reader began \(generation 2\)/,
    () => {
      const history = made();
      // Brought early enough, so that nothing but the read says that it had not happened yet.
      history.calls[3] = { ...history.calls[3]!, startedAt: 150 };
      return heard(
        history,
        retold(followed(history), (lines) => lines.with(2, { ...lines[2]!, at: 280 })),
      );
    },
  ],
  [
    'a generation that falls',
    /^C8, .*change 4 to follower: expected generation 3 or later; found generation 2/,
    () => toldOtherwise(3, { generation: 2 }),
  ],
  [
    'the checksum of another version',
    /^C8, .*change 3 to follower: expected checksum [0-9a-f]{64}; found 0{64}/,
    () => toldOtherwise(2, { checksum: '0'.repeat(64) }),
  ],
  [
    'another version than was loaded',
    /^C8, .*change 3 to follower: expected knowledgeVersion v3; found v2/,
    () => toldOtherwise(2, { knowledgeVersion: 'v2' }),
  ],
  [
    'a change that never was',
    /^C8, .*change 9 to follower: expected a change that the log tells of; found HELD/,
    () =>
      told((lines) => [...lines, came({ ...lines[3]!.change, sequence: 9, kind: 'HELD' }, lines[3]!.at + 1)]),
  ],
  [
    'a change that the filter keeps out',
    /^C8, .*change 1 to follower: expected only changes of beta in production; found alpha\/production/,
    () => heard(made(), { ...followed(made()), filter: { agentKey: 'beta', environment: 'production' } }),
  ],
];
