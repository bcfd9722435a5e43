import type { Advice } from '../../core/check.ts';
import type { Refusal } from '../../core/drive-survey.ts';

const staysInForce = 'Nothing counts as deleted: every active version stays in force, and goes stale.';

type Question = 'token' | 'place' | 'drive' | 'root' | 'changes' | 'content';

/** Who mends what the service refused, by its status and nothing of its words. */
export function refusalAdvice({ trouble }: Refusal, what: Question): Advice {
  return troubles[trouble] ?? (what === 'token' ? noToken : unavailable);
}

/** An authority that cannot be reached and a tenant that it does not know look alike from here. */
const noToken: Advice = {
  meaning: `Nobody can ask the drive anything. ${staysInForce}`,
  fix: 'Look whether AZURE_TENANT_ID is the directory (tenant) id and AGENT_KNOWLEDGE_GRAPH_CLOUD its cloud, and whether this machine reaches the host that gives tokens (proxy, firewall, NODE_EXTRA_CA_CERTS); which of the two it is cannot be told from here.',
  who: 'operator',
};

const unavailable: Advice = {
  meaning: `The service did not answer as it should, and may do so again in a moment. ${staysInForce}`,
  fix: 'Run this again. If it stays so: look whether this machine reaches the hosts of the cloud (proxy, firewall, NODE_EXTRA_CA_CERTS), and at the service health of Microsoft 365.',
  who: 'operator',
};

const troubles: Readonly<Record<string, Advice>> = {
  setup: {
    meaning: `The settings name no drive or no credentials, so nothing was asked. ${staysInForce}`,
    fix: 'Set what the message names; see docs/sharepoint.md.',
    who: 'operator',
  },
  credentials: {
    meaning: `The service does not accept who asks. ${staysInForce}`,
    fix: 'Where none are set: set the AZURE_ variables of the application (docs/sharepoint.md). Else look by the code whether the secret or certificate has ended or was revoked, and whether it belongs to this tenant and cloud; set a new one.',
    who: 'operator',
  },
  forbidden: {
    meaning: `The account is known and may not read there. ${staysInForce}`,
    fix: 'Give the application Files.Read.All or Sites.Read.All; or, with Sites.Selected, a grant with the role read on this very site (POST /sites/{id}/permissions). Minutes may pass until it counts.',
    who: 'm365_administrator',
  },
  missing: {
    meaning: `There is no such place, or the account may not know of it; with Sites.Selected a site without a grant looks like that. ${staysInForce}`,
    fix: 'Compare the settings with the drive (id, site, library, folder; somebody may have renamed or moved it), and give the application its grant on the site.',
    who: 'm365_administrator',
  },
  locked: {
    meaning: `The site is locked or archived. ${staysInForce}`,
    fix: 'Unlock the site in the SharePoint admin center.',
    who: 'm365_administrator',
  },
  throttled: {
    meaning: 'The service asks this application to wait; asking earlier makes it longer.',
    fix: 'Wait. If it comes often: raise AGENT_KNOWLEDGE_GRAPH_POLL_SECONDS and AGENT_KNOWLEDGE_RESYNC_SECONDS, and give this product an application of its own.',
    who: 'operator',
  },
  untrusted: {
    meaning: 'The service named an address outside its own hosts, and no request was sent there.',
    fix: 'If a proxy of your own stands there, name its hosts in AGENT_KNOWLEDGE_GRAPH_DOWNLOAD_HOSTS or AGENT_KNOWLEDGE_GRAPH_BASE_URL; else find out who answers.',
    who: 'operator',
  },
};

/** Files are read, and only their changes are not told (N2, P2). */
export const changesDenied: Advice = {
  meaning:
    'Files are read all the same; changes are found by the timer alone (AGENT_KNOWLEDGE_RESYNC_SECONDS). A library with retention labels can ask for more rights here, and some clouds do not track changes.',
  fix: 'Nothing must be done. For quicker changes show code and request id to Microsoft; do not give the application more rights than reading for it.',
  who: 'm365_administrator',
};

export const contentDenied: Advice = {
  meaning: 'What is in the drive can be listed and not read.',
  fix: 'Look by the code whether the file is blocked (malware, a policy, checked out) and whether this machine reaches the hosts that contents come from (AGENT_KNOWLEDGE_GRAPH_DOWNLOAD_HOSTS).',
  who: 'm365_administrator',
};

export const contentDiffers: Advice = {
  meaning:
    'The drive reports another length or hash than its bytes have: it was just being saved, or SharePoint rewrites such files.',
  fix: 'Run this again. If it stays so, save the file once more as plain text.',
  who: 'author',
};

export const clockDiffers: Advice = {
  meaning: 'Tokens and certificates are judged by the clock: beyond five minutes they are refused.',
  fix: 'Set the clock of this machine, best by NTP.',
  who: 'operator',
};

export const notNamed: Advice = {
  meaning: `The process runs, asks nobody, and captures nothing. ${staysInForce}`,
  fix: 'Set AGENT_KNOWLEDGE_GRAPH_DRIVE_ID, or AGENT_KNOWLEDGE_GRAPH_SITE_URL, or AGENT_KNOWLEDGE_GRAPH_SHARING_LINK; see docs/sharepoint.md.',
  who: 'operator',
};

export const notAFolder: Advice = {
  meaning: `The paths of the registry start from a folder. ${staysInForce}`,
  fix: 'Name the folder in AGENT_KNOWLEDGE_GRAPH_ROOT, or share the folder instead of a file.',
  who: 'operator',
};
