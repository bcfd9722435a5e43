import { isBlankCharacter, isInvisible, skip } from './characters.ts';
import type { FileFaultCode, Sighting } from './sighting.ts';

/** K-087: the first bytes of a Windows or Linux program. Also plain text that begins with "MZ": the contract's letter. */
export function findExecutable(content: Uint8Array): readonly Sighting<FileFaultCode>[] {
  const windows = startsWith(content, [0x4d, 0x5a]);
  const linux = startsWith(content, [0x7f, 0x45, 0x4c, 0x46]);
  if (!windows && !linux) return [];
  const what = windows ? 'the signature "MZ" of a Windows program' : 'the signature "ELF" of a Linux program';
  return [{ code: 'executable_payload', what, count: 1, places: [{ start: 0, end: windows ? 2 : 4 }] }];
}

/**
 * K-085: the first byte that is no UTF-8, with a guess at what the file is instead. `text` is the lenient decoding: put
 * back into bytes, it differs from the file first where a replacement character stands for a bad byte.
 */
export function findInvalidUtf8(content: Uint8Array, text: string): readonly Sighting<FileFaultCode>[] {
  const encoded = new TextEncoder().encode(text);
  let offset = 0;
  while (offset < encoded.length && encoded[offset] === content[offset]) offset += 1;
  if (offset === encoded.length && offset === content.length) return [];
  // A cut letter may begin like U+FFFD itself (EF BF): step back to where it begins.
  while (offset > 0 && isContinuation(encoded[offset])) offset -= 1;
  const start = new TextDecoder('utf-8', { ignoreBOM: true }).decode(content.subarray(0, offset)).length;
  return [
    {
      code: 'invalid_utf8',
      what: describeBytes(content, offset),
      count: 1,
      places: [{ start, end: start + 1 }],
    },
  ];
}

/** K-086: NUL bytes, which is also what UTF-16 without a byte-order mark and an undownloaded placeholder hold. */
export function findNullBytes(content: Uint8Array, text: string): readonly Sighting<FileFaultCode>[] {
  const first = text.indexOf('\0');
  if (first === -1) return [];
  let zeros = 0;
  for (let index = 0; index < content.length; index += 1) if (content[index] === 0) zeros += 1;
  const places = [{ start: first, end: first + 1 }];
  return [{ code: 'null_byte', what: describeZeros(content.length, zeros), count: zeros, places }];
}

/** K-087, G-13: `#!` as the first visible characters, after a byte-order mark, blanks and invisible characters. */
export function findShebang(text: string): readonly Sighting<FileFaultCode>[] {
  const first = skip(text, 0, (codePoint) => isInvisible(codePoint) || isBlankCharacter(codePoint));
  const second = skip(text, first + 1, isInvisible);
  if (text[first] !== '#' || text[second] !== '!') return [];
  return [{ code: 'script_payload', what: '"#!"', count: 1, places: [{ start: first, end: second + 1 }] }];
}

/** True for a byte that continues a letter in UTF-8. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x80 && byte <= 0xbf;
}

function startsWith(content: Uint8Array, signature: readonly number[]): boolean {
  return signature.every((byte, index) => content[index] === byte);
}

function describeBytes(content: Uint8Array, offset: number): string {
  const mark = startsWith(content, [0xff, 0xfe]) || startsWith(content, [0xfe, 0xff]);
  if (mark) return 'the byte-order mark of UTF-16';
  const byte = content[offset] ?? 0;
  const code = `0x${byte.toString(16).padStart(2, '0').toUpperCase()}`;
  // A letter has at most four bytes, so only the last three can be what is left of a cut one.
  return offset >= content.length - 3 && byte >= 0xc2
    ? `the first byte (${code}) of a letter that is cut off at the end of the file`
    : `a byte (${code}) that is no UTF-8`;
}

function describeZeros(size: number, zeros: number): string {
  if (zeros === size) return 'nothing but NUL bytes (the file was probably not downloaded)';
  if (zeros * 3 >= size) return 'a NUL byte at every other place (the file is probably UTF-16)';
  return 'a NUL byte';
}
