import type { ContentFaultCode, WarningCode } from '../finding.ts';
import type { Place } from './views.ts';

/** The faults that the content of one file can have by itself. */
export type FileFaultCode = Exclude<ContentFaultCode, 'package_too_large'>;

/** The warnings that the content of one file can have by itself. */
export type FileWarningCode = Extract<
  WarningCode,
  | 'utf8_bom'
  | 'control_characters'
  | 'zero_width_text'
  | 'suspicious_markup'
  | 'confusable_markup'
  | 'event_handler'
  | 'data_uri'
  | 'remote_image'
>;

export type SightingCode = FileFaultCode | FileWarningCode;

/** One kind of thing seen in a file: how often, and where the first few stand. */
export interface Sighting<Code extends SightingCode = SightingCode> {
  readonly code: Code;
  /** What was seen, as the beginning of a sentence. */
  readonly what: string;
  readonly count: number;
  /** In order; empty where the sighting is about the file as a whole. */
  readonly places: readonly Place[];
}

/** A sighting under way: `see` is called for each place, in order. */
export interface Tally<Code extends SightingCode> {
  readonly see: (place: Place) => void;
  /** Empty where nothing was seen, so that results can be joined. */
  readonly result: () => readonly Sighting<Code>[];
}

const placesKept = 5;

/**
 * Counts every place and keeps the first five, so that a hostile file yields a sentence and not a megabyte of findings.
 */
export function tally<Code extends SightingCode>(code: Code, what: string): Tally<Code> {
  const places: Place[] = [];
  let count = 0;
  return {
    see: (place) => {
      if (count < placesKept) places.push(place);
      count += 1;
    },
    result: () => (count === 0 ? [] : [{ code, what, count, places }]),
  };
}
