/** A secret found in a view, `start` and `end` counted there. */
export interface Secret {
  readonly kind: string;
  readonly start: number;
  readonly end: number;
}

/** The characters a token is made of. */
export type Alphabet = 'alphanumeric' | 'upper' | 'hex' | 'base64' | 'word' | 'dashed' | 'dotted' | 'tilde';

/** A token that its prefix gives away. */
export interface TokenFormat {
  readonly kind: string;
  readonly prefix: string;
  readonly alphabet: Alphabet;
  /** How many characters follow the prefix, exactly or at least. */
  readonly length: number;
  readonly exact?: true;
  /** What else must hold for the characters behind the prefix. */
  readonly also?: (body: string) => boolean;
}

/** A key without a prefix of its own, told by the name it is assigned to. */
export interface NamedFormat {
  readonly kind: string;
  /** In lower case. */
  readonly name: string;
  readonly alphabet: Alphabet;
  readonly length: number;
}

/** W52: formats that their issuers publish and that nothing else looks like. Test-mode keys are no secrets. */
export const tokenFormats: readonly TokenFormat[] = [
  { kind: 'an AWS access key id', prefix: 'AKIA', alphabet: 'upper', length: 16, exact: true },
  { kind: 'an AWS access key id', prefix: 'ASIA', alphabet: 'upper', length: 16, exact: true },
  { kind: 'a GitHub token', prefix: 'ghp_', alphabet: 'alphanumeric', length: 36 },
  { kind: 'a GitHub token', prefix: 'gho_', alphabet: 'alphanumeric', length: 36 },
  { kind: 'a GitHub token', prefix: 'ghu_', alphabet: 'alphanumeric', length: 36 },
  { kind: 'a GitHub token', prefix: 'ghs_', alphabet: 'alphanumeric', length: 36 },
  { kind: 'a GitHub token', prefix: 'ghr_', alphabet: 'alphanumeric', length: 36 },
  { kind: 'a GitHub token', prefix: 'github_pat_', alphabet: 'word', length: 40 },
  { kind: 'a GitLab token', prefix: 'glpat-', alphabet: 'dotted', length: 20 },
  { kind: 'a GitLab token', prefix: 'gldt-', alphabet: 'dotted', length: 20 },
  { kind: 'a GitLab token', prefix: 'glrt-', alphabet: 'dotted', length: 20 },
  { kind: 'a Slack token', prefix: 'xoxa-', alphabet: 'dashed', length: 20, also: hasSixDigits },
  { kind: 'a Slack token', prefix: 'xoxb-', alphabet: 'dashed', length: 20, also: hasSixDigits },
  { kind: 'a Slack token', prefix: 'xoxe-', alphabet: 'dashed', length: 20, also: hasSixDigits },
  { kind: 'a Slack token', prefix: 'xoxp-', alphabet: 'dashed', length: 20, also: hasSixDigits },
  { kind: 'a Slack token', prefix: 'xoxr-', alphabet: 'dashed', length: 20, also: hasSixDigits },
  { kind: 'a Slack token', prefix: 'xoxs-', alphabet: 'dashed', length: 20, also: hasSixDigits },
  { kind: 'a Slack token', prefix: 'xapp-', alphabet: 'dashed', length: 30, also: hasSixDigits },
  { kind: 'a Stripe live key', prefix: 'sk_live_', alphabet: 'alphanumeric', length: 16 },
  { kind: 'a Stripe live key', prefix: 'rk_live_', alphabet: 'alphanumeric', length: 16 },
  { kind: 'a Google API key', prefix: 'AIza', alphabet: 'dashed', length: 35, exact: true },
  { kind: 'a Google client secret', prefix: 'GOCSPX-', alphabet: 'dashed', length: 28, exact: true },
  { kind: 'an npm token', prefix: 'npm_', alphabet: 'alphanumeric', length: 36, exact: true },
  { kind: 'a PyPI token', prefix: 'pypi-AgE', alphabet: 'dashed', length: 50 },
  { kind: 'an Anthropic key', prefix: 'sk-ant-', alphabet: 'dashed', length: 32 },
  { kind: 'an OpenAI key', prefix: 'sk-proj-', alphabet: 'dashed', length: 40 },
  { kind: 'an OpenAI key', prefix: 'sk-svcacct-', alphabet: 'dashed', length: 40 },
  {
    kind: 'an OpenAI key',
    prefix: 'sk-',
    alphabet: 'alphanumeric',
    length: 48,
    also: (body) => body.includes('T3BlbkFJ'),
  },
  { kind: 'a Hugging Face token', prefix: 'hf_', alphabet: 'alphanumeric', length: 34, exact: true },
  { kind: 'a SendGrid key', prefix: 'SG.', alphabet: 'dotted', length: 66, also: (body) => body[22] === '.' },
  { kind: 'a DigitalOcean token', prefix: 'dop_v1_', alphabet: 'hex', length: 64, exact: true },
  { kind: 'a Shopify token', prefix: 'shpat_', alphabet: 'hex', length: 32, exact: true },
  { kind: 'a Shopify secret', prefix: 'shpss_', alphabet: 'hex', length: 32, exact: true },
  { kind: 'a Docker token', prefix: 'dckr_pat_', alphabet: 'dashed', length: 27 },
  { kind: 'a Databricks token', prefix: 'dapi', alphabet: 'hex', length: 32, exact: true },
  { kind: 'a Vault token', prefix: 'hvs.', alphabet: 'dashed', length: 90 },
  { kind: 'an Atlassian token', prefix: 'ATATT3', alphabet: 'base64', length: 150 },
  { kind: 'a Linear key', prefix: 'lin_api_', alphabet: 'alphanumeric', length: 40, exact: true },
  { kind: 'a Figma token', prefix: 'figd_', alphabet: 'dashed', length: 40 },
  { kind: 'a Grafana token', prefix: 'glsa_', alphabet: 'word', length: 41, exact: true },
  { kind: 'an age secret key', prefix: 'AGE-SECRET-KEY-1', alphabet: 'upper', length: 58, exact: true },
  {
    kind: 'a Slack webhook address',
    prefix: 'hooks.slack.com/services/T',
    alphabet: 'base64',
    length: 40,
    also: (body) => /^[A-Z0-9]{8,12}\/B[A-Z0-9]{8,12}\//.test(body),
  },
];

/** W52: keys that are told by the name before them, with the exact length their issuer gives them. */
export const namedFormats: readonly NamedFormat[] = [
  { kind: 'an Azure storage key', name: 'accountkey', alphabet: 'base64', length: 88 },
  { kind: 'an Azure shared access key', name: 'sharedaccesskey', alphabet: 'base64', length: 44 },
  { kind: 'an AWS secret access key', name: 'aws_secret_access_key', alphabet: 'base64', length: 40 },
  { kind: 'an AWS secret access key', name: 'secretaccesskey', alphabet: 'base64', length: 40 },
];

/**
 * What the issuers print in their own documentation, without the prefix where several share it. Text that contains
 * EXAMPLE, as AWS's examples do, and tokens with a run of eight x are examples too.
 */
export const documentedExamples: readonly string[] = [
  // GitHub, in its pages about OAuth and installation tokens.
  '16C7e42F292c6912E7710c838347Ae178B4a',
  // Slack, in the answer of oauth.v2.access.
  '17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy',
  '17653672481-19874698323-pdFZKVeTuE8sk7oOcBrzbqgy',
  // Google Maps Platform.
  'SyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe',
  // The storage emulator Azurite, the same on every machine.
  'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
];

function hasSixDigits(body: string): boolean {
  return body.replace(/[^0-9]/g, '').length >= 6;
}
