/** The stable words for what is wrong with a registry, each a `reason` of `REGISTRY_REJECTED` (K-012…K-018). */
export const registryFaultCodes = [
  'registry_missing',
  'registry_bad_json',
  'registry_not_utf8',
  'registry_too_large',
  'registry_bad_shape',
  'duplicate_key',
  'missing_field',
  'bad_type',
  'bad_agent_key',
  'no_files',
  'too_many_files',
  'bad_load_order',
  'duplicate_load_order',
  'empty_path',
  'duplicate_path',
  'path_traversal',
  'absolute_path',
  'wildcard_path',
  'backslash_path',
  'non_canonical_path',
  'bad_path_character',
  'reserved_name',
  'path_too_long',
  'registry_disputed',
] as const;
export type RegistryFaultCode = (typeof registryFaultCodes)[number];

/** Why a package could not be fetched whole: each a `reason` of `FAILED` (K-022, K-080, K-081). */
export const fetchFaultCodes = [
  'agent_disabled',
  'unknown_agent',
  'root_missing',
  'root_empty',
  'missing_required',
  'empty_required',
  'empty_package',
  'not_regular_file',
  'path_escapes_root',
  'unreadable',
  'not_downloaded',
] as const;
export type FetchFaultCode = (typeof fetchFaultCodes)[number];

/** Why fetched content was refused: each a `reason` of `VALIDATION_FAILED` (K-082, K-084…K-089). */
export const contentFaultCodes = [
  'too_large',
  'package_too_large',
  'invalid_utf8',
  'null_byte',
  'executable_payload',
  'script_payload',
  'php_payload',
  'script_markup',
  'frame_markup',
  'object_markup',
  'embed_markup',
  'script_uri',
  'hidden_characters',
  'bidi_override',
  'secret_found',
] as const;
export type ContentFaultCode = (typeof contentFaultCodes)[number];

/** What a person should know although the refresh went on; travels with the refresh and the version. */
export const warningCodes = [
  'registry_bom',
  'unknown_key',
  'utf8_bom',
  'empty_optional',
  'optional_disappeared',
  'symlink_inside_root',
  'conflict_copy_present',
  'control_characters',
  'zero_width_text',
  'suspicious_markup',
  'confusable_markup',
  'event_handler',
  'data_uri',
  'remote_image',
  'possibly_torn',
  'unverified',
  'name_differs_by_case',
  'name_differs_by_unicode_form',
  'renamed',
  'moved',
  'deleted',
] as const;
export type WarningCode = (typeof warningCodes)[number];

export type FindingCode = RegistryFaultCode | FetchFaultCode | ContentFaultCode | WarningCode;

/** A fault as a sentence that names its file, also where its own message only names the line. */
export function placedMessage({ relativePath, message }: Pick<Finding, 'relativePath' | 'message'>): string {
  return relativePath === null || message.includes(relativePath) ? message : `${relativePath}: ${message}`;
}

/** What speaks against a package, for a person: the first fault with its file and what looks like it, and how many more there are. */
export function faultsMessage(
  faults: readonly [Finding, ...Finding[]],
  warnings: readonly Finding[] = [],
): string {
  const [first, ...others] = faults;
  const hint = warnings.find(
    ({ code, relativePath }) => hints.has(code) && relativePath === first.relativePath,
  );
  const more = others.length === 0 ? [] : [`(and ${others.length} more)`];
  return [placedMessage(first), ...(hint ? [hint.message] : []), ...more].join(' ');
}

/** How many findings a list shows that is read again and again. */
const shownFindings = 50;

/** As many as a person reads; the message beside a list counts all of them. */
export function firstFindings(findings: readonly Finding[]): readonly Finding[] {
  return findings.slice(0, shownFindings);
}

/** Whether anything was found at all, for the type checker. */
export function isFaulty(faults: readonly Finding[]): faults is readonly [Finding, ...Finding[]] {
  return faults.length > 0;
}

/** What is told of a file that is not there: another one looks like it, or what became of it is known. */
const hints: ReadonlySet<FindingCode> = new Set([
  'name_differs_by_case',
  'name_differs_by_unicode_form',
  'conflict_copy_present',
  'renamed',
  'moved',
  'deleted',
]);

/**
 * One observation about a registry or a file: a stable word for programs, a sentence for a person. The sentence may
 * quote a masked excerpt of at most a few dozen characters and never shows a secret.
 */
export interface Finding<Code extends FindingCode = FindingCode> {
  readonly code: Code;
  /** The path as the registry (or, for a neighbour, the folder) spells it; null where it is about no file. */
  readonly relativePath: string | null;
  /** Line number from 1; null where it is about no line. */
  readonly line: number | null;
  readonly message: string;
}
