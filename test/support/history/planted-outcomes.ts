import { sha256 } from '../../../src/core/checksum.ts';
import { MadeHistory } from './made-history.ts';
import { plain, planted, withVersions, renameActor, type PlantedFault } from './planted.ts';

/** Faults of what came about: C1, C2, C3 and C9. */
export const plantedOutcomes: readonly PlantedFault[] = [
  [
    'a number that is left out',
    /^C1, alpha\/production, its versions: expected v2 next; found v3/,
    () => {
      const made = plain();
      return withVersions(made, [made.versions[0]!, { ...made.versions[1]!, number: 3 }], 4);
    },
  ],
  [
    'a number that is given twice',
    /^C1, .*expected v3 next; found v2/,
    () => {
      const made = plain();
      return withVersions(made, [...made.versions, made.versions[1]!]);
    },
  ],
  [
    'a counter that has gone back',
    /^C1, .* its counter: expected next number 3; found 2/,
    () => planted(plain(), { nextNumber: 2 }),
  ],
  [
    'an acknowledged version that is gone',
    /^C2, .* refresh call-3 by writer: expected v2, .*no such version/,
    () => {
      const made = plain();
      return withVersions(made, made.versions.slice(0, 1));
    },
  ],
  [
    'an acknowledged version with another content',
    /^C2, .* call-3 .*expected v2 with checksum/,
    () => {
      const made = plain();
      return withVersions(made, [made.versions[0]!, { ...made.versions[1]!, checksum: sha256('other') }]);
    },
  ],
  [
    'a refresh answered with what was there before it was asked',
    /^C2, .* call-3 .*as saved before it was asked/,
    () =>
      planted(
        new MadeHistory().refresh('one').call({
          id: 'call-3',
          operation: 'refresh',
          arguments: { brings: { relativePath: 'a.md', checksum: sha256('two') } },
          result: { version: { number: 1, checksum: null } },
        }),
      ),
  ],
  [
    'an acknowledged activation that is gone',
    /^C2, .* activate of v1 call-3 .*expected generation 3, .*found generation 2/,
    () => {
      const made = new MadeHistory().refresh('one').refresh('two');
      return planted(
        made.call({ arguments: { target: 1 }, result: { seen: { ...made.seen, generation: 3, active: 1 } } }),
      );
    },
  ],
  [
    'an activation that took effect at no time',
    /^C2, .* activate of v1 call-4 .*expected v1 active .*no such moment/,
    () => {
      const made = new MadeHistory().refresh('one').refresh('two').read();
      return planted(made.call({ arguments: { target: 1 }, result: { seen: made.seen } }));
    },
  ],
  [
    'a hold that is not there',
    /^C2, .* hold call-2 .*expected a hold/,
    () => planted(new MadeHistory().refresh('one').call({ operation: 'hold' })),
  ],
  [
    'a refused activation that was carried out',
    /^C3, .* activate of v1 call-3 .*at most 0 times.*1 events/,
    () => planted(new MadeHistory().refresh('one').refresh('two').activate(1, { end: 'fail', result: {} })),
  ],
  [
    'a refused refresh whose content was captured',
    /^C3, .* refresh call-2 .*its content in v2/,
    () => planted(new MadeHistory().refresh('one').refresh('two', { end: 'fail', result: {} })),
  ],
  [
    'a lost answer that came about twice',
    /^C9, .* activate of v1 call-3 by writer: .*at most 2 times.*3 events/,
    () => {
      const made = new MadeHistory().refresh('one').refresh('two');
      made.activate(1, { end: 'unknown', result: {} }).activate(2, { client: 'second' }).activate(1);
      renameActor(made, 'agent.knowledge_rollback', 'v2', 'second').activate(2, { client: 'second' });
      renameActor(made, 'agent.knowledge_rollback', 'v2', 'second').activate(1);
      made.calls.pop();
      return planted(made);
    },
  ],
  [
    'a question repeated under its key and carried out again',
    /^C9, .* activate of v1 call-3 .*at most 1 times.*2 events/,
    () => {
      const made = new MadeHistory().refresh('one').refresh('two');
      made.activate(1, { arguments: { target: 1, key: 'k' }, end: 'unknown', result: {} });
      made.activate(2, { client: 'second' }).activate(1, { arguments: { target: 1, key: 'k' } });
      return planted(renameActor(made, 'agent.knowledge_rollback', 'v2', 'second'));
    },
  ],
  [
    'a content captured twice',
    /^C9, .* refresh call-2 by writer: expected its content captured once, as v2; found once more as v3/,
    () => {
      const made = new MadeHistory()
        .refresh('one')
        .refresh('two', { end: 'unknown', result: {} })
        .refresh('two');
      made.calls.pop();
      return planted(made);
    },
  ],
];
