import type { Finding } from '../core/finding.ts';
import type { FileLook, PackageLook } from '../core/look.ts';
import type { RelativePath } from '../core/package.ts';
import { quote } from '../core/quote.ts';

/** What one look is asked for; plain values, since it crosses a process border. */
export interface LookRequest {
  /** Absolute path of the source's root folder. */
  readonly root: string;
  /** In the order the files are to be answered. */
  readonly paths: readonly RelativePath[];
  readonly withContent: boolean;
  readonly maxFileBytes: number;
  /** Names of machines known to write into the folder, for telling conflict copies. */
  readonly hosts: readonly string[];
}

/** How a look ended for the root. */
export type RootEnd =
  | { readonly root: 'present'; readonly rootIdentity: string }
  | (Extract<PackageLook, { root: 'trouble' }> & { readonly rootIdentity: string | null });

/** What happens during a look, in order. `file` may come again for the same index; the last one counts. */
export type LookStep =
  | { readonly kind: 'reading'; readonly index: number }
  | {
      readonly kind: 'file';
      readonly index: number;
      readonly look: FileLook;
      readonly notices: readonly Finding[];
    }
  | { readonly kind: 'checking' }
  | { readonly kind: 'end'; readonly end: RootEnd };

/**
 * A look and the identity of the folder it was read from, `device:inode` (null where there was none, or
 * where reading never ended): with another identity it is another folder, whatever its path, and a mount that came or
 * went shows here (F50).
 */
export type LocalLook = PackageLook & { readonly rootIdentity: string | null };

/** Puts the steps of one look together again. */
export class LookCollector {
  readonly #request: LookRequest;
  readonly #files: (FileLook | undefined)[] = [];
  readonly #notices: (readonly Finding[])[] = [];
  #reading: number | null = null;
  /** Whether the root has answered. */
  started = false;

  constructor(request: LookRequest) {
    this.#request = request;
  }

  /** The file being read, or about to be; null before the first one and while the whole is checked. */
  get stuckAt(): number | null {
    if (!this.started || this.#reading !== null) return this.#reading;
    const next = this.#request.paths.findIndex((_, index) => this.#files[index] === undefined);
    return next < 0 ? null : next;
  }

  /** The look when this was its last step, else null. */
  take(step: LookStep): LocalLook | null {
    this.started = true;
    this.#reading = step.kind === 'reading' ? step.index : null;
    if (step.kind === 'end') return step.end.root === 'present' ? this.#whole(step.end) : step.end;
    if (step.kind === 'file') {
      this.#files[step.index] = step.look;
      this.#notices[step.index] = step.notices;
    }
    return null;
  }

  /** The look when reading `index` never ended: that file and those after it are refused, so the look fails. */
  giveUpAt(index: number, waitedMs: number): LocalLook {
    const file = quote(this.#request.paths[index] ?? '', 400);
    for (const [other, relativePath] of this.#request.paths.entries()) {
      const message =
        other === index
          ? `Reading ${file} did not end within ${waitedMs} ms; the disk or the sync client does not answer.`
          : `${quote(relativePath, 400)} was not read, since reading ${file} did not end.`;
      if (other === index || this.#files[other] === undefined) {
        this.#files[other] = { state: 'refused', relativePath, code: 'unreadable', message };
      }
    }
    return this.#whole({ root: 'present', rootIdentity: null });
  }

  #whole(end: Pick<LocalLook, 'rootIdentity'> & { readonly root: 'present' }): LocalLook {
    const files = this.#request.paths.flatMap((_, index) => this.#files[index] ?? []);
    return { ...end, files, notices: this.#notices.flat() };
  }
}
