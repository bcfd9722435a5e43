import { factsOf } from './stream-facts.ts';
import type { MadeHistory } from './made-history.ts';
import type { CameLine, PlaceLine, Segment, StreamedChange, Subscriber } from './stream-record.ts';
import { followEvents } from './timeline.ts';

export const follower = 'follower';

/** Who followed a made history from its first event to its last on one connection, and got each change 5 ms after it. */
export function followed(made: MadeHistory, after = 0): Subscriber {
  const [final] = made.state().packages;
  const timeline = followEvents(made.events);
  const facts = factsOf({ name: made.name, calls: [], deeds: [], final: final!, timeline, lagMs: 0 });
  const told = facts.map(({ told }, index) => came(told, Number(made.events[index]?.timeMicros) / 1000 + 5));
  return {
    name: follower,
    filter: { agentKey: 'alpha', environment: 'production' },
    segments: [{ process: 'api', after, told: told.filter(({ change }) => change.sequence > after) }],
    left: false,
  };
}

export function came(change: StreamedChange, at: number): CameLine {
  return { line: 'came', subscriber: follower, at, id: change.sequence, change };
}

export function place(id: number, at: number): PlaceLine {
  return { line: 'place', subscriber: follower, at, id };
}

/** The same subscriber, cut off behind its first `count` lines and back behind the last number it had. */
export function cutAfter(subscriber: Subscriber, count: number): Subscriber {
  const [{ after, told }] = subscriber.segments as [Segment];
  const last = told[count - 1];
  const back = last === undefined ? after : last.line === 'place' ? last.id : last.change.sequence;
  return {
    ...subscriber,
    segments: [
      { process: 'api', after, told: told.slice(0, count) },
      { process: 'api2', after: back, told: told.slice(count) },
    ],
  };
}

/** The same subscriber with other lines on its first connection. */
export function retold(
  subscriber: Subscriber,
  change: (told: readonly CameLine[]) => readonly (CameLine | PlaceLine)[],
): Subscriber {
  const [first, ...others] = subscriber.segments as [Segment, ...Segment[]];
  return {
    ...subscriber,
    segments: [{ ...first, told: change(first.told.filter((line) => line.line === 'came')) }, ...others],
  };
}
