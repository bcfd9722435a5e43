/** Why content looks half written: true of many good files now and then, so it only buys time. */
export type Suspicion = 'empty' | 'not_utf8' | 'zeros_at_end' | 'much_shorter' | 'cut_off';

/** Milliseconds between the readings that suspicious content must stand before it counts (`watching.md` 3.2). */
export const suspicionWaitsMs = [150, 400, 1000, 2500] as const;

/**
 * What is suspicious about a file's bytes by themselves and beside the size of the active version's; `compare` where only
 * the active bytes can tell, since these are shorter; null where nothing is.
 */
export function suspicionOf(
  content: Uint8Array,
  activeSizeBytes: number | null,
): Suspicion | 'compare' | null {
  if (content.length === 0) return 'empty';
  if (content.at(-1) === 0) return 'zeros_at_end';
  if (!isUtf8(content)) return 'not_utf8';
  if (activeSizeBytes === null || content.length >= activeSizeBytes) return null;
  return content.length * 2 < activeSizeBytes ? 'much_shorter' : 'compare';
}

/** Whether these bytes are the beginning of the active ones, as a file is while it is being written again. */
export function isCutOff(content: Uint8Array, active: Uint8Array): boolean {
  if (content.length >= active.length) return false;
  return content.every((byte, index) => byte === active[index]);
}

function isUtf8(content: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(content);
    return true;
  } catch {
    return false;
  }
}
