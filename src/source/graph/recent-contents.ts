import type { Sha256 } from '../../core/package.ts';

/** Contents that were read a short while ago, up to a number of bytes; those that were asked for longest ago go first. */
export class RecentContents {
  readonly #maxBytes: number;
  readonly #contents = new Map<Sha256, Uint8Array>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(checksum: Sha256): Uint8Array | null {
    const content = this.#contents.get(checksum);
    if (content === undefined) return null;
    this.#contents.delete(checksum);
    this.#contents.set(checksum, content);
    return content;
  }

  put(checksum: Sha256, content: Uint8Array): void {
    this.#drop(checksum);
    this.#contents.set(checksum, content);
    this.#bytes += content.length;
    for (const oldest of this.#contents.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#drop(oldest);
    }
  }

  #drop(checksum: Sha256): void {
    this.#bytes -= this.#contents.get(checksum)?.length ?? 0;
    this.#contents.delete(checksum);
  }
}
