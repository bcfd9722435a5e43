const widthBits = 160;
const widthBytes = widthBits / 8;
/** Every byte is laid this many bits further on than the one before. */
const shiftBits = 11;

/**
 * The hash of OneDrive and SharePoint (C3), fed piece by piece: every byte is folded into 160 bits, and the length, as eight
 * bytes beginning with the lowest, into the last 64 of them. It finds accidents, not forgeries.
 */
export class QuickXorHash {
  readonly #state = new Uint8Array(widthBytes);
  #bit = 0;
  #lengthBytes = 0;

  update(bytes: Uint8Array): this {
    for (const byte of bytes) {
      const [at, shift] = [this.#bit >> 3, this.#bit & 7];
      this.#fold(at, byte << shift);
      if (shift > 0) this.#fold((at + 1) % widthBytes, byte >> (8 - shift));
      this.#bit = (this.#bit + shiftBits) % widthBits;
    }
    this.#lengthBytes += bytes.length;
    return this;
  }

  /** Base64 of 20 bytes, as the service writes it; may be asked for again after further bytes. */
  digest(): string {
    const result = Buffer.from(this.#state);
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(this.#lengthBytes));
    for (const [index, byte] of length.entries()) {
      const at = widthBytes - 8 + index;
      result[at] = (result[at] ?? 0) ^ byte;
    }
    return result.toString('base64');
  }

  #fold(at: number, bits: number): void {
    this.#state[at] = (this.#state[at] ?? 0) ^ (bits & 0xff);
  }
}

/** The hash of bytes that are all there, in base64 (C3). */
export function quickXorHash(bytes: Uint8Array): string {
  return new QuickXorHash().update(bytes).digest();
}
