import type { Finding, RegistryFaultCode } from '../finding.ts';

/** Bytes of a registry file: far above any real one, and a bound on what a wrong file can cost. */
export const maxRegistryBytes = 16 * 1024 * 1024;

/** The registry as text without its byte-order mark, or the one fault that keeps it from being text. */
export type RegistryText =
  | {
      readonly ok: true;
      readonly bytes: Uint8Array;
      readonly text: string;
      readonly warnings: readonly Finding[];
    }
  | { readonly ok: false; readonly fault: Finding<RegistryFaultCode> };

/** Reads the registry's bytes as strict UTF-8; no other encoding is guessed at (K-012). */
export function readRegistryText(bytes: Uint8Array | null): RegistryText {
  if (bytes === null) return refuse('registry_missing', 'expected a registry file, found none');
  if (bytes.length > maxRegistryBytes) return refuse('registry_too_large', tooLarge(bytes.length));
  if (isWideText(bytes)) return refuse('registry_not_utf8', 'expected UTF-8, found UTF-16 or UTF-32');
  const text = decode(bytes);
  if (text === null) return refuseBytes(bytes);
  return text.startsWith('\ufeff')
    ? { ok: true, bytes, text: text.slice(1), warnings: [bomWarning] }
    : { ok: true, bytes, text, warnings: [] };
}

const bomWarning: Finding = {
  code: 'registry_bom',
  relativePath: null,
  line: 1,
  message: 'The registry starts with a UTF-8 byte-order mark; it is read, but some JSON readers refuse it.',
};

function tooLarge(found: number): string {
  return `expected at most ${maxRegistryBytes} bytes, found ${found}`;
}

/** By the zero bytes around the first two characters, which in JSON are ASCII; without a mark it is valid UTF-8. */
function isWideText([first, second, third, fourth]: Uint8Array): boolean {
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return true;
  const little = first !== 0 && second === 0 && fourth === 0;
  const big = first === 0 && fourth !== undefined && fourth !== 0 && (second !== 0 || third === 0);
  return little || big;
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function refuseBytes(bytes: Uint8Array): RegistryText {
  const at = firstInvalidByte(bytes);
  const line = bytes.subarray(0, at).filter((byte) => byte === 0x0a).length + 1;
  return refuse('registry_not_utf8', `expected UTF-8, found a byte that is none (byte ${at + 1})`, line);
}

/** Decoding leniently replaces what is invalid, so the text encoded again differs first where the trouble is. */
function firstInvalidByte(bytes: Uint8Array): number {
  const again = new TextEncoder().encode(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
  const differs = bytes.findIndex((byte, index) => byte !== again[index]);
  // A last letter cut short can begin like the replacement character itself.
  return differs < 0 ? bytes.length - 1 : differs;
}

function refuse(code: RegistryFaultCode, what: string, line: number | null = null): RegistryText {
  return { ok: false, fault: { code, relativePath: null, line, message: `the registry: ${what}.` } };
}
