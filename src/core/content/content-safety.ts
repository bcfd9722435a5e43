import { isBlankCharacter, isInvisible, skip } from './characters.ts';
import { findHidden, isTag, type Hidden } from './hidden.ts';
import { findDataAddresses, findRemoteImages } from './links.ts';
import { findConfusableMarkup, findSuspiciousMarkup, mayBeConfused } from './markup.ts';
import { findExecutable, findInvalidUtf8, findNullBytes, findShebang } from './payload.ts';
import { reportOn } from './report.ts';
import { findSecrets } from './secrets.ts';
import type { FileFaultCode, Sighting } from './sighting.ts';
import { findInTags } from './tags.ts';
import { findListedTokens, findScriptAddresses } from './tokens.ts';
import { addressView, foldedView, isPlain, lookAlikeView, plainView } from './views.ts';
import type { ContentFaultCode, Finding, WarningCode } from '../finding.ts';
import type { RelativePath } from '../package.ts';

/** What the content of one file is refused for, and what a person should know although it loads. */
export interface ContentVerdict {
  readonly faults: readonly Finding<ContentFaultCode>[];
  readonly warnings: readonly Finding<WarningCode>[];
}

/**
 * Judges the content of one file, never its meaning (K-084…K-089, G-13, `interface.md` 6). All faults come at once, in
 * the order size, program, encoding, listed tokens, hidden text, secrets; one finding per kind with its first line and
 * a count. A file over `maxFileBytes` is judged by its size alone, since a careful reader hands over no more than one
 * byte past the limit. Pure and total: any bytes give a verdict, in time linear in their number (T43). No message shows
 * a secret or more than 40 characters of the file.
 */
export function checkContent(file: {
  relativePath: RelativePath;
  content: Uint8Array;
  maxFileBytes: number;
}): ContentVerdict {
  const { relativePath, content, maxFileBytes } = file;
  if (content.length > maxFileBytes) {
    return { faults: reportOn(relativePath, '', []).findings([oversize(maxFileBytes)]), warnings: [] };
  }
  const text = decodeLeniently(content);
  const folded = foldedView(text);
  const address = addressView(text);
  const secrets = findSecrets(plainView(text));
  const hidden = isPlain(text) ? nothingHidden : findHidden(text);
  const report = reportOn(relativePath, text, secrets.places);
  return {
    faults: report.findings([
      ...findExecutable(content),
      ...findInvalidUtf8(content, text),
      ...findNullBytes(content, text),
      ...findShebang(text),
      ...findListedTokens(text, folded),
      ...findScriptAddresses(text, address),
      ...hidden.faults,
      ...secrets.faults,
    ]),
    warnings: report.findings([
      ...hidden.warnings,
      ...findSuspiciousMarkup(folded),
      ...(mayBeConfused(text) ? findConfusableMarkup(text, folded, lookAlikeView(text)) : []),
      ...findInTags(folded),
      ...findDataAddresses(address),
      ...findRemoteImages(folded),
    ]),
  };
}

/**
 * True for a file that holds nothing to read: no bytes, or only blanks, byte-order marks, controls and characters that
 * show nothing (K-022, G-12). NUL bytes and tag characters are not blank: those files are refused by their content.
 */
export function isBlank(content: Uint8Array): boolean {
  const text = decodeLeniently(content);
  return skip(text, 0, showsNothing) === text.length;
}

const nothingHidden: Hidden = { faults: [], warnings: [] };

function oversize(maxFileBytes: number): Sighting<FileFaultCode> {
  const limit = maxFileBytes.toLocaleString('en-US');
  return {
    code: 'too_large',
    what: `the file is larger than the limit of ${limit} bytes`,
    count: 1,
    places: [],
  };
}

/** A byte-order mark stays in the text; what is no UTF-8 becomes U+FFFD, so that the rest is still judged. */
function decodeLeniently(content: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(content);
}

function showsNothing(codePoint: number): boolean {
  if (codePoint === 0 || isTag(codePoint)) return false;
  return isInvisible(codePoint) || isBlankCharacter(codePoint);
}
