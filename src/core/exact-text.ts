const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The text that encodes to exactly these bytes again, a byte-order mark included; throws where they are not UTF-8. */
export function exactText(bytes: Uint8Array): string {
  return utf8.decode(bytes);
}
