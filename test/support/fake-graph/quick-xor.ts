const widthBits = 160;
const shiftBits = 11;

/**
 * quickXorHash of bytes in base64, by the published definition: each byte is XORed into 160 bits, 11 bits further on than
 * the one before, and the length goes into the last 64. Bit by bit on purpose: it is checked against the product's own.
 */
export function quickXorOf(bytes: Uint8Array): string {
  let state = 0n;
  const lanes = Array.from({ length: widthBits }, () => 0);
  for (let index = 0; index < bytes.length; index += 1) {
    // Bytes that are 160 apart meet at the same place, since 160 * 11 is a multiple of 160.
    lanes[index % widthBits] = (lanes[index % widthBits] ?? 0) ^ (bytes[index] ?? 0);
  }
  for (const [index, byte] of lanes.entries()) state ^= turned(BigInt(byte), (index * shiftBits) % widthBits);
  state ^= BigInt(bytes.length) << 96n;
  const hash = Buffer.alloc(widthBits / 8);
  for (let place = 0; place < hash.length; place += 1)
    hash[place] = Number((state >> BigInt(place * 8)) & 255n);
  return hash.toString('base64');
}

function turned(value: bigint, bits: number): bigint {
  const moved = value << BigInt(bits);
  return (moved & ((1n << BigInt(widthBits)) - 1n)) | (moved >> BigInt(widthBits));
}
