import type { SightingCode } from './sighting.ts';

/** Why something is refused or told, and what to write instead: whole sentences for the author of the file. */
export interface Wording {
  readonly why: string;
  readonly remedy: string;
}

const anywhere = 'refused anywhere in a file, in any letter case, also inside code blocks';

/** One row per code; the line, the excerpt and the count are added where the finding is made (W47). */
export const wording: Readonly<Record<SightingCode, Wording>> = {
  too_large: {
    why: 'Every file is handed to the agent whole, so its size is limited.',
    remedy: 'Split it into several files and list each in the registry.',
  },
  executable_payload: {
    why: 'Programs are refused, and so is any text that begins with these characters.',
    remedy: 'If it is text, begin it with a heading or another word.',
  },
  invalid_utf8: {
    why: 'Knowledge files are read as UTF-8 text, so that everybody reads the same characters.',
    remedy: 'Save the file again as UTF-8, or wait until it is fully synchronized.',
  },
  null_byte: {
    why: 'Text never holds NUL bytes.',
    remedy: 'Save the file again as UTF-8 text, or wait until it is fully downloaded.',
  },
  script_payload: {
    why: 'A file whose text begins with "#!" can be run as a script, so it is refused.',
    remedy: 'Begin the file with a heading; "#!" on a later line is allowed.',
  },
  php_payload: {
    why: `A PHP open tag is ${anywhere}.`,
    remedy: 'To show it as text, write &lt;?php or &lt;?= instead.',
  },
  script_markup: {
    why: `The beginning of a script element is ${anywhere} and in longer words such as <scripture>.`,
    remedy: 'To show it as text, write &lt;script&gt; instead.',
  },
  frame_markup: {
    why: `The beginning of a frame is ${anywhere}.`,
    remedy: 'To show it as text, write &lt;iframe&gt; instead; to point to a page, use a link.',
  },
  object_markup: {
    why: `The beginning of an object element is ${anywhere} and in longer words such as <objective>.`,
    remedy: 'To show it as text, write &lt;object&gt; instead.',
  },
  embed_markup: {
    why: `The beginning of an embed element is ${anywhere} and in longer words such as <embedded>.`,
    remedy: 'To show it as text, write &lt;embed&gt; instead.',
  },
  script_uri: {
    why: `"javascript" directly followed by a colon runs code when it is an address; it is ${anywhere} and titles, and also when it is written with entities or split by tabs or invisible characters.`,
    remedy: 'Write "JavaScript" without the colon, or with a blank before it.',
  },
  hidden_characters: {
    why: 'The person who approves the file cannot see this text, and a model reads it.',
    remedy: 'Delete the invisible characters; the escapes in the excerpt show where they stand.',
  },
  bidi_override: {
    why: 'What is shown would not be what is read.',
    remedy:
      'Delete it. Arabic and Hebrew text needs none; to set off a name, use U+2068 before and U+2069 behind it on the same line.',
  },
  secret_found: {
    why: 'Versions are kept for ever and handed to a model, so a secret in a file could never be taken back.',
    remedy: 'Remove it, and have it revoked by whoever issued it: treat it as known to others.',
  },
  utf8_bom: {
    why: 'It is kept, and a program that reads settings from the first line may not find them.',
    remedy: 'Save the file as "UTF-8" rather than "UTF-8 with BOM".',
  },
  control_characters: {
    why: 'Such characters can hide text in a terminal.',
    remedy: 'Delete them unless they are meant.',
  },
  zero_width_text: {
    why: 'Nobody sees it, and it makes words differ that look the same.',
    remedy: 'Delete it unless it is meant; it often comes with text that was pasted together.',
  },
  suspicious_markup: {
    why: 'Browsers show it as text, so it is no reason to refuse the file.',
    remedy: 'If it is meant as text, write &lt; for the "<".',
  },
  confusable_markup: {
    why: 'Browsers show it as text, so it is no reason to refuse the file; somebody may have tried to disguise a tag.',
    remedy: 'Write the name in one alphabet, or &lt; for the "<".',
  },
  event_handler: {
    why: 'A page that shows the file without escaping it would run the handler.',
    remedy: 'Remove the attribute, or write &lt; for the "<" to show the tag as text.',
  },
  data_uri: {
    why: 'It holds a whole page or picture that nobody reviews.',
    remedy: 'Link to a file instead.',
  },
  remote_image: {
    why: 'Whoever shows the file fetches the picture, and the address can carry text out.',
    remedy: 'Put the picture beside the file, or use an address without "?".',
  },
};
