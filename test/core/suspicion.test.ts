import { describe, expect, test } from 'vitest';
import { isCutOff, suspicionOf } from '../../src/core/suspicion.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

describe('content looks half written', () => {
  test.each<[string, Uint8Array, number | null, ReturnType<typeof suspicionOf>]>([
    ['holds nothing', bytes(''), null, 'empty'],
    ['ends in zeros', bytes('# Rules\0\0'), null, 'zeros_at_end'],
    ['ends in the middle of a character', bytes('Grüße €').subarray(0, -1), null, 'not_utf8'],
    ['is not UTF-8', Uint8Array.of(0x47, 0xfc, 0x0a), null, 'not_utf8'],
    ['has less than half of the active size', bytes('12345'), 11, 'much_shorter'],
    ['has half of the active size', bytes('12345'), 10, 'compare'],
    ['is a byte shorter than the active bytes', bytes('12345'), 6, 'compare'],
    ['is as long as the active bytes', bytes('12345'), 5, null],
    ['is longer', bytes('12345'), 4, null],
    ['is the first', bytes('1'), null, null],
    ['ends in a byte-order mark that is text', bytes('\uFEFF'), null, null],
  ])('or not, where it %s', (_, content, activeSize, suspicion) => {
    expect(suspicionOf(content, activeSize)).toBe(suspicion);
  });

  test('where it is the beginning of the active bytes, and only there', () => {
    expect(isCutOff(bytes('# Rul'), bytes('# Rules'))).toBe(true);
    expect(isCutOff(bytes('# Rol'), bytes('# Rules'))).toBe(false);
    expect(isCutOff(bytes('# Rules'), bytes('# Rules'))).toBe(false);
    expect(isCutOff(bytes('# Rules more'), bytes('# Rules'))).toBe(false);
  });
});
