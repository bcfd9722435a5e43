import { describe, expect, it } from 'vitest';
import { sha256 } from '../../src/core/checksum.ts';
import { quote } from '../../src/core/quote.ts';
import {
  accepted,
  agent,
  codesOf,
  document,
  faultsOf,
  file,
  parse,
  rewritten,
  withFiles,
  withPath,
} from '../support/registry-documents.ts';

describe('a registry', () => {
  it('becomes packages with the contract’s fields, files in ascending load order (K-019, K-020)', () => {
    const text = JSON.stringify(withFiles(file('c.md', 701), file('a.md', 0), file('b.md', 700)));
    const registry = accepted(text);
    expect(registry.registryVersion).toBe('1.0');
    expect(registry.checksum).toBe(sha256(text));
    expect(registry.warnings).toEqual([]);
    expect([...registry.agents.values()]).toEqual([
      {
        agentKey: 'triage',
        enabled: true,
        agentCode: 'AUTO-100',
        stage: 'triage',
        packageVersion: 'v01',
        files: [
          { relativePath: 'a.md', loadOrder: 0, required: true },
          { relativePath: 'b.md', loadOrder: 700, required: true },
          { relativePath: 'c.md', loadOrder: 701, required: true },
        ],
      },
    ]);
  });

  it.each([
    [
      'files from several folders, with spaces and dashes (K-021)',
      withFiles(file('00 Shared/a.md'), file('X - v01/04 P/b.md', 2)),
    ],
    ['a file two agents share (K-021)', document({ one: agent(), two: agent() })],
    ['an optional file (K-023)', withFiles({ ...file('a.md'), required: false })],
    ['a right-to-left path', withPath('معرفة/قواعد.md')],
    ['a name that looks like a copy', withPath('Tiers/Tier (1).md')],
    ['a disabled agent', document({ triage: agent({ enabled: false }) })],
    ['no agents', document({})],
    ['empty code and stage', document({ triage: agent({ agent_code: '', stage: '' }) })],
    [
      'labels of full length',
      document({ triage: agent({ agent_code: '码'.repeat(80), package_version: '😀'.repeat(40) }) }),
    ],
    ['a key of full length', document({ [`a${'0_'.repeat(31)}`]: agent() })],
    ['keys that mean something to JavaScript', document({ constructor: agent(), valueof: agent() })],
    ['200 files', withFiles(...Array.from({ length: 200 }, (_, at) => file(`${at}.md`, at)))],
    ['the largest load order', withFiles(file('a.md', 2_147_483_647))],
    ['windows line ends', JSON.stringify(document(), null, 2).replaceAll('\n', '\r\n')],
  ])('may hold %s', (_, value) => {
    expect(accepted(value).agents).toBeInstanceOf(Map);
  });

  it('keeps an agent named like a property of every object as an agent', () => {
    expect([...accepted(document({ constructor: agent() })).agents.keys()]).toEqual(['constructor']);
  });

  it('is accepted with a UTF-8 byte-order mark, with a warning, and hashed as it is', () => {
    const text = `\ufeff${JSON.stringify(document())}`;
    const registry = accepted(text);
    expect(registry.warnings.map(({ code }) => code)).toEqual(['registry_bom']);
    expect(registry.checksum).toBe(sha256(text));
  });

  it('names unknown keys at every level, with the key that may have been meant, and is accepted', () => {
    const value = document(
      { triage: agent({ owner: 'x', files: [{ ...file('a.md'), Required: true, comment: 'x' }] }) },
      { $schema: 'x' },
    );
    expect(accepted(value).warnings.map(({ code, message }) => [code, message])).toEqual([
      ['unknown_key', '["$schema"]: this key means nothing here.'],
      ['unknown_key', 'agents.triage.owner: this key means nothing here.'],
      [
        'unknown_key',
        'agents.triage.files[0].Required: this key means nothing here; did you mean "required"?',
      ],
      ['unknown_key', 'agents.triage.files[0].comment: this key means nothing here.'],
    ]);
  });
});

function without(key: string) {
  const { [key]: _, ...rest } = agent();
  return document({ triage: rest });
}

describe('a registry of another shape', () => {
  it.each([
    ['a list at the top', [], 'registry_bad_shape'],
    ['a text at the top', '"registry"', 'registry_bad_shape'],
    ['null at the top', 'null', 'registry_bad_shape'],
    ['agents as a list', document([agent()]), 'registry_bad_shape'],
    ['agents as null', document(null), 'registry_bad_shape'],
    [
      'more levels than anyone needs',
      rewritten('"stage"', `"x":${'['.repeat(70)}${']'.repeat(70)},"stage"`),
      'registry_bad_shape',
    ],
    ['no registry_version', { agents: {} }, 'missing_field'],
    ['an empty registry_version', document({}, { registry_version: '' }), 'missing_field'],
    ['a blank registry_version', document({}, { registry_version: ' \t' }), 'missing_field'],
    ['no agents', { registry_version: '1.0' }, 'missing_field'],
    ['a number as registry_version', document({}, { registry_version: 1 }), 'bad_type'],
    ['a long registry_version', document({}, { registry_version: '1'.repeat(41) }), 'bad_type'],
    ['a line break in registry_version', document({}, { registry_version: '1\n0' }), 'bad_type'],
    ['a zero in agent_code', document({ triage: agent({ agent_code: 'A\0' }) }), 'bad_type'],
    ['half a character in stage', document({ triage: agent({ stage: '\ud800' }) }), 'bad_type'],
    ['a direction override in stage', document({ triage: agent({ stage: '\u202etriage' }) }), 'bad_type'],
    ['an agent that is a list', document({ triage: [] }), 'bad_type'],
    ['no enabled', without('enabled'), 'missing_field'],
    ['no agent_code', without('agent_code'), 'missing_field'],
    ['no stage', without('stage'), 'missing_field'],
    ['no package_version', without('package_version'), 'missing_field'],
    ['no files', without('files'), 'missing_field'],
    ['enabled as a text', document({ triage: agent({ enabled: 'false' }) }), 'bad_type'],
    ['enabled as null', document({ triage: agent({ enabled: null }) }), 'bad_type'],
    ['agent_code as a number', document({ triage: agent({ agent_code: 25 }) }), 'bad_type'],
    ['a long agent_code', document({ triage: agent({ agent_code: 'x'.repeat(81) }) }), 'bad_type'],
    ['a long stage', document({ triage: agent({ stage: 'x'.repeat(81) }) }), 'bad_type'],
    ['an empty package_version', document({ triage: agent({ package_version: '' }) }), 'missing_field'],
    ['files as an object', document({ triage: agent({ files: {} }) }), 'bad_type'],
    ['an empty list of files', withFiles(), 'no_files'],
    [
      '201 files',
      withFiles(...Array.from({ length: 201 }, (_, at) => file(`${at}.md`, at))),
      'too_many_files',
    ],
    ['a file that is only a path', withFiles('Shared/core.md'), 'bad_type'],
    ['no relative_path', withFiles({ load_order: 1, required: true }), 'missing_field'],
    ['no load_order', withFiles({ relative_path: 'a.md', required: true }), 'missing_field'],
    [
      'required misspelled',
      withFiles({ relative_path: 'a.md', load_order: 1, requierd: false }),
      'missing_field',
    ],
    ['required as a number', withFiles({ ...file('a.md'), required: 1 }), 'bad_type'],
    ['relative_path as a number', withPath(7), 'bad_type'],
    ['relative_path as null', withPath(null), 'bad_type'],
  ])('is refused, for %s', (_, value, code) => {
    expect(codesOf(value)).toEqual([code]);
  });

  it.each(
    [
      '../x',
      'Triage',
      'TRIAGE',
      'tri-age',
      'tri age',
      '1triage',
      '_triage',
      '',
      'tri\u0430ge',
      'ｔriage',
      'tri\u200bage',
      'triagé',
      'triage\n',
      'tri.age',
      'tri/age',
      'tri%2fage',
      '__proto__',
      `a${'b'.repeat(63)}`,
    ].map((key) => ({ key, shown: quote(key) })),
  )('is refused, for the agent key $shown', ({ key }) => {
    // As text, since JSON.stringify would leave out a key named __proto__ of an object literal.
    expect(codesOf(rewritten('"triage":', `${JSON.stringify(key)}:`))).toEqual(['bad_agent_key']);
  });

  it('is checked in disabled agents the same way, and refused whole for one agent (K-012)', () => {
    const value = document({
      triage: agent(),
      later: agent({ enabled: false, files: [file('a.md'), file('b.md')] }),
    });
    expect(codesOf(value)).toEqual(['duplicate_load_order']);
  });
});

describe('a load order', () => {
  it.each(['0', '1', '700', '2147483647', '1.0', '1e2', '2.5e1', '1E+2'])('may be %s', (source) => {
    expect(codesOf(rewritten('"load_order":1', `"load_order":${source}`))).toEqual([]);
  });

  it.each([
    '-1',
    '-0',
    '1.5',
    '2147483648',
    '1e10',
    '9007199254740993',
    '1.0000000000000000001',
    '1e400',
    '1e-400',
    '100e-2',
    '"2"',
    '""',
    'null',
    'true',
    '[1]',
    '{}',
  ])('may not be %s', (source) => {
    expect(codesOf(rewritten('"load_order":1', `"load_order":${source}`))).toEqual(['bad_load_order']);
  });

  it('stands once in an agent, whatever its spelling (K-015)', () => {
    expect(codesOf(withFiles(file('a.md', 2), file('b.md', 2)))).toEqual(['duplicate_load_order']);
    expect(codesOf(rewritten('"load_order":2', '"load_order":1.0'))).toEqual(['duplicate_load_order']);
  });
});

describe('a listed path', () => {
  it.each([
    ['empty', '', 'empty_path'],
    ['up and back down', 'Triage/../Triage/rules.md', 'path_traversal'],
    ['up, percent-encoded', '%2e%2e/secrets.md', 'path_traversal'],
    ['absolute', '/etc/hostname', 'absolute_path'],
    ['on a drive', 'C:/Users/x/rules.md', 'absolute_path'],
    ['on a share', '\\\\server\\share\\rules.md', 'absolute_path'],
    ['with a star', 'Triage/*.md', 'wildcard_path'],
    ['with two stars', '**/rules.md', 'wildcard_path'],
    ['with a backslash', 'Triage\\rules.md', 'backslash_path'],
    ['with a dot in front', './Triage/rules.md', 'non_canonical_path'],
    ['of a folder', 'Triage/', 'non_canonical_path'],
    ['with a zero', 'Triage/rules\0.md', 'bad_path_character'],
    ['with a dot at the end', 'Triage/rules.md.', 'bad_path_character'],
    ['with a space in front of a name', 'Triage/ rules.md', 'bad_path_character'],
    ['with a zero-width space', 'Triage/ru\u200bles.md', 'bad_path_character'],
    ['of a device', 'Triage/NUL.md', 'reserved_name'],
    ['of an Office owner file', 'Triage/~$rules.md', 'reserved_name'],
    ['of 401 characters', `${'abcdefghi/'.repeat(40)}x`, 'path_too_long'],
  ])('is refused when %s (K-013, K-016…K-018)', (_, path, code) => {
    const [fault, ...others] = faultsOf(withPath(path));
    expect(others).toEqual([]);
    expect(fault?.code).toBe(code);
    expect(fault?.message).toMatch(
      /^agents\.triage\.files\[1\]\.relative_path: expected a path below the root, found "/,
    );
  });

  it.each([
    ['as it is', 'Notes/café.md', 'Notes/café.md'],
    ['in another letter case', 'Notes/core.md', 'notes/CORE.md'],
    ['in another Unicode form', 'Notes/caf\u00e9.md', 'Notes/cafe\u0301.md'],
    ['under a fault of its own', './a.md', './a.md'],
  ])('may not stand twice in an agent, %s (K-014)', (_, first, second) => {
    const codes = codesOf(withFiles(file(first, 1), file(second, 2)));
    expect(codes.filter((code) => code === 'duplicate_path')).toEqual(['duplicate_path']);
  });
});

describe('a fault', () => {
  it('says where, what was expected and what was found, and all are told at once', () => {
    const value = document({
      triage: agent({
        enabled: 1,
        files: [file('a.md', 1), file('../b.md', 'x'), { ...file('A.md', 1), required: 'no' }],
      }),
      'Bad Key': agent({ stage: 7 }),
    });
    expect(
      faultsOf(value).map(({ code, relativePath, line, message }) => [code, relativePath, line, message]),
    ).toEqual([
      ['bad_type', null, 5, 'agents.triage.enabled: expected true or false, found 1.'],
      [
        'path_traversal',
        '../b.md',
        16,
        'agents.triage.files[1].relative_path: expected a path below the root, found "../b.md", which has a segment that leads up ("..").',
      ],
      [
        'bad_load_order',
        '../b.md',
        17,
        'agents.triage.files[1].load_order: expected a whole number from 0 to 2147483647, found "x", which is a text.',
      ],
      ['bad_type', 'A.md', 23, 'agents.triage.files[2].required: expected true or false, found "no".'],
      [
        'duplicate_path',
        'A.md',
        21,
        'agents.triage.files[2].relative_path: expected each file once, letter case and Unicode form aside, found "A.md", which agents.triage.files[0].relative_path holds too.',
      ],
      [
        'duplicate_load_order',
        'A.md',
        22,
        'agents.triage.files[2].load_order: expected each load order once, found 1, which agents.triage.files[0].load_order holds too.',
      ],
      [
        'bad_agent_key',
        null,
        27,
        'agents["Bad Key"]: expected a key of at most 63 of a-z, 0-9 and _ that starts with a letter, found "Bad Key".',
      ],
      [
        'bad_type',
        null,
        30,
        'agents["Bad Key"].stage: expected a text of 0 to 80 characters in quotes, found 7.',
      ],
    ]);
  });

  it('quotes what was found so that it can neither hide nor break the message', () => {
    const [fault] = faultsOf(withPath(`../\u202e\0\u{e0041}\n${'x'.repeat(300)}`));
    expect(fault?.message).toContain('"../\\u202e\\u0000\\u{e0041}\\nxxx');
    expect(fault?.message.length).toBeLessThan(260);
    expect(`${fault?.message}${fault?.relativePath}`).not.toMatch(/[\p{C}\u2028\u2029]/u);
  });

  it('comes with the warnings of the same document', () => {
    const result = parse(withFiles({ relative_path: 'a.md', load_order: 1, requierd: false }));
    expect(result).toMatchObject({
      ok: false,
      faults: [{ code: 'missing_field', relativePath: 'a.md' }],
      warnings: [{ code: 'unknown_key', relativePath: 'a.md' }],
    });
  });

  it('is one of at most a thousand', () => {
    expect(
      faultsOf(document({ triage: agent({ files: Array.from({ length: 5000 }, () => 7) }) })),
    ).toHaveLength(1000);
  });
});
