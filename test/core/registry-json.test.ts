import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRegistry } from '../../src/core/registry/registry.ts';
import { agent, bytesOf, codesOf, document, faultsOf, rewritten } from '../support/registry-documents.ts';

const wide = (text: string) => Buffer.from(text, 'utf16le');
const utf32 = (text: string) =>
  Buffer.from(Array.from(text, (letter) => [letter.charCodeAt(0), 0, 0, 0]).flat());

describe('bytes that are no registry', () => {
  const text = JSON.stringify(document());

  it.each([
    ['an absent file', null, 'registry_missing'],
    ['an empty file', '', 'registry_bad_json'],
    ['blanks', ' \n', 'registry_bad_json'],
    ['a file cut short', text.slice(0, 80), 'registry_bad_json'],
    ['a file full of zeros', '\0'.repeat(64), 'registry_bad_json'],
    ['a line comment', `// ours\n${text}`, 'registry_bad_json'],
    ['a block comment', `${text}/* ours */`, 'registry_bad_json'],
    ['a comma before a brace', text.replace(/\}$/, ',}'), 'registry_bad_json'],
    ['a comma before a bracket', text.replace(']', ',]'), 'registry_bad_json'],
    ['a missing comma', text.replace(',', ' '), 'registry_bad_json'],
    ['single quotes', text.replaceAll('"', "'"), 'registry_bad_json'],
    ['a bare key', text.replace('"agents"', 'agents'), 'registry_bad_json'],
    ['something after the end', `${text} {}`, 'registry_bad_json'],
    ['NaN', rewritten('"load_order":1', '"load_order":NaN'), 'registry_bad_json'],
    ['a number with a leading zero', rewritten('"load_order":1', '"load_order":01'), 'registry_bad_json'],
    ['a number that stops short', rewritten('"load_order":1', '"load_order":1.'), 'registry_bad_json'],
    ['a number with a plus sign', rewritten('"load_order":1', '"load_order":+1'), 'registry_bad_json'],
    ['an unknown escape', rewritten('core.md', 'core\\x2emd'), 'registry_bad_json'],
    ['a line break inside a text', rewritten('core.md', 'core\n.md'), 'registry_bad_json'],
    ['a tab inside a text', rewritten('"stage"', '"x":"a\tb","stage"'), 'registry_bad_json'],
    ['two byte-order marks', `\ufeff\ufeff${text}`, 'registry_bad_json'],
    ['a blank that JSON does not know', `\u00a0${text}`, 'registry_bad_json'],
    ['UTF-16 with a mark', wide(`\ufeff${text}`), 'registry_not_utf8'],
    ['UTF-16 without a mark', wide(text), 'registry_not_utf8'],
    ['big-endian UTF-16 without a mark', wide(text).swap16(), 'registry_not_utf8'],
    ['UTF-32', utf32(text), 'registry_not_utf8'],
    ['Latin-1', Buffer.from(rewritten('core', 'caf\u00e9'), 'latin1'), 'registry_not_utf8'],
    ['an overlong encoding', Buffer.concat([bytesOf('{"'), Buffer.from([0xc0, 0xaf])]), 'registry_not_utf8'],
    [
      'a letter cut in half at the end',
      Buffer.concat([bytesOf(text), Buffer.from([0xef, 0xbf])]),
      'registry_not_utf8',
    ],
    ['an encoded surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 'registry_not_utf8'],
    ['more than 16 MiB', Buffer.alloc(16 * 1024 * 1024 + 1, ' '), 'registry_too_large'],
  ])('are refused: %s', (_, value, code) => {
    const result = parseRegistry(typeof value === 'string' ? bytesOf(value) : value);
    expect(result.ok ? [] : result.faults.map((fault) => fault.code)).toEqual([code]);
  });

  it('say on which line the first byte stands that is not UTF-8', () => {
    const bytes = Buffer.concat([bytesOf('{\n"a": "\ufffd",\n"'), Buffer.from([0xe9]), bytesOf('": 1}')]);
    const result = parseRegistry(bytes);
    expect(result).toMatchObject({ ok: false, faults: [{ code: 'registry_not_utf8', line: 3 }] });
  });

  it('may be 16 MiB long', () => {
    const bytes = Buffer.alloc(16 * 1024 * 1024, ' ');
    bytes.write(text);
    expect(parseRegistry(bytes).ok).toBe(true);
  });

  it('say where the JSON breaks, with path, line and column', () => {
    expect(faultsOf('{\n  "agents": {\n    "triage": {"enabled" true}\n  }\n}')).toEqual([
      {
        code: 'registry_bad_json',
        relativePath: null,
        line: 3,
        message: 'agents.triage, line 3, column 26: expected ":" after the key, found "true".',
      },
    ]);
  });

  it('show every comment and stray comma, and what else is wrong', () => {
    const text = `{ // one
      "registry_version": "1.0", /* two */
      "agents": {"triage": {"enabled": "yes", "agent_code": "A", "stage": "s", "package_version": "v01",
        "files": [{"relative_path": "../a.md", "load_order": 1, "required": true},],}}
    }`;
    expect(faultsOf(text).map(({ code, line }) => [code, line])).toEqual([
      ['registry_bad_json', 1],
      ['registry_bad_json', 2],
      ['registry_bad_json', 4],
      ['registry_bad_json', 4],
      ['bad_type', 3],
      ['path_traversal', 4],
    ]);
  });
});

describe('a key that stands twice', () => {
  it.each([
    [
      'at the top',
      rewritten('"registry_version"', '"registry_version":"2.0","registry_version"'),
      'registry_version',
    ],
    ['as an agent', rewritten('"triage":', `"triage":${JSON.stringify(agent())},"triage":`), 'agents.triage'],
    ['in an agent', rewritten('"enabled":true', '"enabled":true,"enabled":false'), 'agents.triage.enabled'],
    [
      'in a file',
      rewritten('"required":true', '"required":true,"required":true'),
      'agents.triage.files[0].required',
    ],
    ['below an unknown key', rewritten('"stage"', '"x":[{"y":1,"y":2}],"stage"'), 'agents.triage.x[0].y'],
    ['spelled with an escape', rewritten('"stage"', '"st\\u0061ge":"x","stage"'), 'agents.triage.stage'],
    [
      'with a name that sets a prototype',
      rewritten('"stage"', '"__proto__":1,"__proto__":2,"stage"'),
      'agents.triage.__proto__',
    ],
    ['without a name', rewritten('"stage"', '"":1,"":2,"stage"'), 'agents.triage[""]'],
  ])('is refused %s, since two readers would see two registries', (_, text, path) => {
    const [fault, ...others] = faultsOf(text);
    expect(others).toEqual([]);
    expect(fault).toMatchObject({ code: 'duplicate_key', line: 1 });
    expect(fault?.message).toBe(`${path}: expected each key once, found this one again (first on line 1).`);
  });

  it('is found at every depth', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('list', 'object'), { maxLength: 55 }), (levels) => {
        const inner = levels.reduce(
          (json, level) => (level === 'list' ? `[${json}]` : `{"k":${json}}`),
          '{"a":1,"a":2}',
        );
        expect(codesOf(rewritten('"stage"', `"x":${inner},"stage"`))).toEqual(['duplicate_key']);
      }),
    );
  });
});

describe('any bytes at all', () => {
  const token = fc.oneof(
    fc.constantFrom(...Array.from('{}[],:"\\/- \n\t01.e\u00a0\ufeff\ud800')),
    fc.constantFrom('//', '/*', '*/', '1.5', 'E+', 'true', 'null', 'nul', "'", '"\u0001"'),
    fc.constantFrom('"a"', '"\\u0061"', '"\\u00"', '"\\q"', '"files"', '"__proto__"', '"agents"'),
  );
  const tokens = fc.array(token, { maxLength: 30 }).map((parts) => parts.join(''));
  const mutated = fc.tuple(fc.nat(), fc.nat(6), token).map(([at, length, text]) => {
    const valid = JSON.stringify(document());
    const from = at % valid.length;
    return valid.slice(0, from) + text + valid.slice(from + length);
  });

  it('are a registry or a list of faults, never an exception', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.uint8Array({ maxLength: 300 }), tokens.map(bytesOf), mutated.map(bytesOf)),
        (bytes) => {
          const result = parseRegistry(bytes);
          if (!result.ok) expect(result.faults.length).toBeGreaterThan(0);
        },
      ),
      { numRuns: 20_000 },
    );
  });

  it('are bad JSON exactly when JSON.parse refuses them', () => {
    fc.assert(
      fc.property(fc.oneof(tokens, mutated, fc.json()), (text) => {
        const wellFormed = text.toWellFormed().replace(/^\ufeff/, '');
        const refused = codesOf(text).includes('registry_bad_json');
        let json = true;
        try {
          JSON.parse(wellFormed);
        } catch {
          json = false;
        }
        expect(refused).toBe(!json);
      }),
      { numRuns: 20_000 },
    );
  });

  it('may be nested a million levels deep', () => {
    for (const text of ['['.repeat(1e6), '{"a":'.repeat(1e6), `${'['.repeat(1e6)}${']'.repeat(1e6)}`]) {
      expect(codesOf(text)).toEqual(['registry_bad_shape']);
    }
  });
});
