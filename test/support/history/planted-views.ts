import { sha256 } from '../../../src/core/checksum.ts';
import type { FinalState } from './final-state.ts';
import { chainAnew, MadeHistory } from './made-history.ts';
import { plain, planted, withVersions, withEvents, renameActor, type PlantedFault } from './planted.ts';

/** Faults of what was seen and told: C4 to C7. */
export const plantedViews: readonly PlantedFault[] = [
  [
    'a stale read',
    /^C4, .* read call-4 by reader: expected generation 2 or later, which refresh call-3 by writer was told .* found generation 1/,
    () => {
      const made = new MadeHistory().refresh('one');
      const before = made.seen;
      return planted(
        made
          .read()
          .refresh('two')
          .read({ client: 'reader', result: { seen: before } }),
      );
    },
  ],
  [
    'a read that lags longer than it may',
    /^C4, .* read call-3 .*found generation 1/,
    () => {
      const made = new MadeHistory().refresh('one');
      const before = made.seen;
      made.refresh('two');
      const late = { startedAt: made.now + 1500, endedAt: made.now + 1510 };
      return { ...planted(made.read({ ...late, process: 'api2', result: { seen: before } })), lagMs: 1000 };
    },
  ],
  [
    'a read that lags behind its own process',
    /^C4, .* read call-3 .*found generation 1/,
    () => {
      const made = new MadeHistory().refresh('one');
      const before = made.seen;
      return { ...planted(made.refresh('two').read({ result: { seen: before } })), lagMs: 1000 };
    },
  ],
  [
    'a read of what was not there yet',
    /^C4, .* refresh call-3 .*which read call-2 by reader was told/,
    () => {
      const made = new MadeHistory().refresh('one').read().refresh('two');
      made.calls[1] = { ...made.calls[1]!, result: { seen: made.seen } };
      return planted(made);
    },
  ],
  [
    'a pointer that never stood so',
    /^C4, .* read call-2 .*expected generation 1 with v1, .*found generation 1 with v2/,
    () => {
      const made = new MadeHistory().refresh('one');
      return planted(made.read({ result: { seen: { ...made.seen, active: 2 } } }));
    },
  ],
  [
    'a generation that never was',
    /^C4, .* read call-2 .*found generation 9/,
    () => {
      const made = new MadeHistory().refresh('one');
      return planted(made.read({ result: { seen: { ...made.seen, generation: 9 } } }));
    },
  ],
  [
    'a CONFLICT with a version that was not active',
    /^C4, .* activate of v1 call-4 .*found v1/,
    () => {
      const made = new MadeHistory().refresh('one').refresh('two').read();
      return planted(made.call({ arguments: { target: 1 }, end: 'fail', result: { current: 1 } }));
    },
  ],
  [
    'a generation that goes down for a client',
    /^C5, .* read call-4 by reader: expected generation 2 or later, .*found generation 1/,
    () => {
      const made = new MadeHistory().refresh('one');
      const before = made.seen;
      made.refresh('two').read();
      // Asked so early that the old state was right, and answered last: no check of times alone can see it.
      return planted(made.read({ startedAt: 150, result: { seen: before } }));
    },
  ],
  [
    'bytes that are not what was said',
    /^C6, .* read call-2 by reader: expected a\.md with bytes of checksum/,
    () => {
      const made = new MadeHistory().refresh('one');
      const files = [{ ...made.versions[0]!.files[0]!, contentChecksum: sha256('flipped') }];
      return planted(made.read({ result: { seen: made.seen, files } }));
    },
  ],
  [
    'kept bytes that are not what was said',
    /^C6, .* v1: expected a\.md with bytes/,
    () => {
      const made = plain();
      const [first, second] = made.versions as [
        FinalState['packages'][0]['versions'][0],
        FinalState['packages'][0]['versions'][0],
      ];
      return withVersions(made, [
        { ...first, files: [{ ...first.files[0]!, contentChecksum: null }] },
        second,
      ]);
    },
  ],
  [
    'a version with a file too few',
    /^C6, .* v2: expected the bundle/,
    () => {
      const made = plain();
      return withVersions(made, [made.versions[0]!, { ...made.versions[1]!, files: [] }]);
    },
  ],
  [
    'a changed event',
    /^C7, the log, event 2: expected the hash/,
    () => {
      const made = plain();
      return withEvents(made, [made.events[0]!, { ...made.events[1]!, timeMicros: '1' }]);
    },
  ],
  [
    'a missing event',
    /^C7, the log, event 3: expected event 2/,
    () => {
      const made = plain().refresh('three');
      return withEvents(made, [made.events[0]!, made.events[2]!]);
    },
  ],
  [
    'an event that follows no other',
    /^C7, the log, event 2: expected the previous hash/,
    () => {
      const made = plain();
      return withEvents(made, [made.events[0]!, { ...made.events[1]!, previousHash: '0'.repeat(64) }]);
    },
  ],
  [
    'a version without an event, the log chained anew',
    /^C7, .* v2: expected an event that tells of it/,
    () => {
      const made = plain();
      return withEvents(made, made.events.slice(0, 1));
    },
  ],
  [
    'a moved pointer without an event',
    /^C7, .* its row: expected active 2, .*found 1/,
    () => planted(plain(), { active: 1, generation: 3 }),
  ],
  [
    'a move that nobody asked for',
    /^C7, .* event 3: expected agent\.knowledge_rollback of v1 by nobody at most 0 times/,
    () => {
      const made = new MadeHistory().refresh('one').refresh('two').activate(1);
      made.calls.pop();
      return planted(renameActor(made, 'agent.knowledge_rollback', 'v1', 'nobody'));
    },
  ],
  [
    'an event that tells another past, the log chained anew',
    /^C7, .* event 3: expected from v2; found "v1"/,
    () => {
      const made = new MadeHistory().refresh('one').refresh('two').activate(1);
      const details = made.events[2]!.details.replace('"from":"v2"', '"from":"v1"');
      return withEvents(made, chainAnew([...made.events.slice(0, 2), { ...made.events[2]!, details }]));
    },
  ],
];
