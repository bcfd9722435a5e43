import { fine, trouble, warn, type Advice, type Check } from '../../core/check.ts';
import type { PackageLook } from '../../core/look.ts';

const area = 'root';

/** What can be told about the root folder beside what a look at it answers. */
export interface RootFacts {
  readonly realPath: string;
  readonly isLink: boolean;
  readonly mayList: boolean;
  readonly mayPass: boolean;
}

export interface FileSystemFacts {
  readonly name: string;
  readonly network: boolean;
}

/** Whether the root is there and can be read; `facts` are null where it cannot be asked. */
export function checkRoot(input: {
  readonly root: string;
  readonly look: PackageLook;
  readonly facts: RootFacts | null;
  /** Whether this user may not even come to it. */
  readonly isOutOfReach: boolean;
  readonly fileSystem: FileSystemFacts | null;
}): Check[] {
  const { root, look, facts, isOutOfReach, fileSystem } = input;
  if (look.root === 'trouble' && isOutOfReach)
    return [trouble({ area, name: 'root_closed', found: look.message }, outOfReach)];
  if (look.root === 'trouble')
    return [trouble({ area, name: look.code, found: look.message }, lost[look.code])];
  if (facts !== null && !facts.mayPass) {
    const found = `The root folder ${root} is there and this user may not pass through it.`;
    return [trouble({ area, name: 'root_closed', found }, closed)];
  }
  const where = facts?.isLink ? `${root} is a link to the folder ${facts.realPath}` : `${root} is a folder`;
  const there = fine({
    area,
    name: 'root_present',
    found: `${where}${fileSystem === null ? '' : ` on ${fileSystem.name}`}.`,
    meaning: facts?.isLink ? 'Pointed elsewhere, it counts as another root.' : null,
  });
  if (facts === null || facts.mayList) return [there];
  const found = `The root folder ${root} may not be listed by this user.`;
  return [there, warn({ area, name: 'root_not_listed', found }, notListed)];
}

const staysInForce = 'Nothing counts as deleted: every active version stays in force, and goes stale.';

const lost: Readonly<Record<Extract<PackageLook, { root: 'trouble' }>['code'], Advice>> = {
  root_missing: {
    meaning: staysInForce,
    fix: 'Mount or sync the folder, or correct AGENT_KNOWLEDGE_LOCAL_PATH. Only the machine of the daemon needs it.',
    who: 'operator',
  },
  root_empty: {
    meaning: staysInForce,
    fix: 'Mount the folder, or sign the sync client in and wait until it is done.',
    who: 'operator',
  },
  unreadable: {
    meaning: `The folder did not answer. ${staysInForce}`,
    fix: 'Look after the mount or the sync client behind the folder; restart it where it hangs.',
    who: 'operator',
  },
};

const closed: Advice = {
  meaning: 'No file below it can be read, and none was looked at.',
  fix: 'Run this as the user of the daemon. If it is that user, give it the right to enter and list the folder (chmod +rx).',
  who: 'operator',
};

const outOfReach: Advice = {
  meaning: 'Whether it is there is not known: this user may not pass through a folder above it.',
  fix: 'Run this as the user of the daemon. If it is that user, give it the right to the folder and to those above it (chmod +rx).',
  who: 'operator',
};

const notListed: Advice = {
  meaning: 'Files are read all the same; look-alike names and conflict copies go unnoticed.',
  fix: 'Run this as the user of the daemon. If it is that user, give it the right to list the folder (chmod +rx).',
  who: 'operator',
};
