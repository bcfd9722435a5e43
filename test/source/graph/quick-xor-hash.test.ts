import { assert, nat, property, uint8Array } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { QuickXorHash, quickXorHash } from '../../../src/source/graph/quick-xor-hash.ts';

/** Bit by bit, as the algorithm is told in words. */
function byBits(bytes: Uint8Array): string {
  const bits = Array.from({ length: 160 }, () => 0);
  for (const [index, byte] of bytes.entries())
    for (let bit = 0; bit < 8; bit += 1) {
      const at = (index * 11 + bit) % 160;
      bits[at] = (bits[at] ?? 0) ^ ((byte >> bit) & 1);
    }
  const length = BigInt(bytes.length);
  for (let bit = 0; bit < 64; bit += 1)
    bits[96 + bit] = (bits[96 + bit] ?? 0) ^ Number((length >> BigInt(bit)) & 1n);
  const result = Buffer.alloc(20);
  for (const [at, bit] of bits.entries()) result[at >> 3] = (result[at >> 3] ?? 0) | (bit << (at & 7));
  return result.toString('base64');
}

describe('quickXorHash (C3)', () => {
  it('is 20 zero bytes for nothing, and known for one byte', () => {
    expect(quickXorHash(new Uint8Array())).toBe(Buffer.alloc(20).toString('base64'));
    // 0x61 at bit 0, and a length of 1 in the twelfth byte.
    const one = Buffer.alloc(20);
    one[0] = 0x61;
    one[12] = 1;
    expect(quickXorHash(Buffer.from('a'))).toBe(one.toString('base64'));
  });

  it('is what counting bit by bit gives, in whatever pieces it comes', () => {
    assert(
      property(uint8Array({ maxLength: 700 }), nat(700), (bytes, cut) => {
        const pieces = new QuickXorHash().update(bytes.subarray(0, cut)).update(bytes.subarray(cut));
        expect(pieces.digest()).toBe(byBits(bytes));
        expect(quickXorHash(bytes)).toBe(byBits(bytes));
      }),
    );
  });
});
