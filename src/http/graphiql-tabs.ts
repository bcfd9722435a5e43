import { versionName } from '../core/package.ts';
import { hasScope, type Caller, type Scope } from '../core/permissions.ts';
import type { ExamplePackage } from '../operations/read-example-package.ts';

/** A tab of GraphiQL, ready to be run. */
export interface GraphiqlTab {
  readonly query: string;
  /** JSON text. */
  readonly variables: string;
}

interface TabPlan {
  /** The scope without which the tab would only be refused. */
  readonly scope: Scope;
  /** What it does, what to change, what happens: comments above the operation, whose name is the tab's. */
  readonly words: readonly string[];
  readonly operation: string;
  readonly variables: (example: Example) => Readonly<Record<string, unknown>>;
}

/** What the variables are filled with. */
interface Example {
  readonly agentKey: string;
  readonly environment: string;
  readonly newest: string;
  /** The version before the newest one, or that one where it is the first. */
  readonly beforeNewest: string;
  readonly active: string;
  readonly beforeActive: string;
}

/** The tabs that this caller may run, in their order, filled with a package that is there. */
export function graphiqlTabs(caller: Caller, found: ExamplePackage | null): GraphiqlTab[] {
  const example = exampleOf(found);
  return plans
    .filter(({ scope }) => hasScope(caller, scope))
    .map(({ words, operation, variables }) => ({
      query: `${words.map((line) => `# ${line}`.trimEnd()).join('\n')}\n\n${operation.trim()}\n`,
      variables: JSON.stringify(variables(example), null, 2),
    }));
}

function exampleOf(found: ExamplePackage | null): Example {
  const newest = Math.max(found?.newestNumber ?? 1, 1);
  const active = found?.activeNumber ?? newest;
  return {
    agentKey: found?.agentKey ?? 'your_agent',
    environment: found?.environment ?? 'production',
    newest: versionName(newest),
    beforeNewest: versionName(Math.max(newest - 1, 1)),
    active: versionName(active),
    beforeActive: versionName(Math.max(active - 1, 1)),
  };
}

const onlyPackage = ({ agentKey, environment }: Example) => ({ agentKey, environment });

const plans: readonly TabPlan[] = [
  {
    scope: 'knowledge:read',
    words: [
      'WHAT DOES MY AGENT GET?',
      'The active version of an agent: its files, in the order in which the agent is given them.',
      '',
      'Press the play button, or Ctrl-Enter: the answer appears beside this, and nothing is changed. For another agent change "agentKey" under Variables.',
    ],
    operation: `
query WhatMyAgentGets($agentKey: String!, $environment: String) {
  activeVersion(agentKey: $agentKey, environment: $environment) {
    knowledgeVersion
    loadedAt
    loadedBy
    sourceStale
    checksum
    files {
      relativePath
      sizeBytes
      content
    }
  }
}`,
    variables: onlyPackage,
  },
  {
    scope: 'knowledge:read',
    words: [
      'HISTORY',
      'The 20 newest versions ("totalCount" says how many there are), newest first; which one is active, what holds it there, and how its source was when it was last looked at.',
      '',
      'Press the play button, or Ctrl-Enter. Nothing is changed.',
    ],
    operation: `
query History($agentKey: String!, $environment: String) {
  package(agentKey: $agentKey, environment: $environment) {
    active {
      knowledgeVersion
    }
    hold {
      reason
      actor
      at
    }
    versions(first: 20) {
      totalCount
      nodes {
        knowledgeVersion
        isActive
        loadedAt
        loadedBy
        fileCount
      }
    }
    sourceStatus {
      state
      message
      lastLookAt
      lastSuccessAt
    }
  }
}`,
    variables: onlyPackage,
  },
  {
    scope: 'ai.knowledge.refresh',
    words: [
      'REFRESH',
      'Looks at the source now, and waits for what comes of it:',
      '',
      'LOADED: something had changed. There is a new version, and unless the package is held, agents get it from now on.',
      'UNCHANGED: the source holds what "matchingVersion" holds already.',
      'FAILED or VALIDATION_FAILED: nothing was taken, and agents keep what they have; "faults" says which file, and why.',
      'QUEUED or RUNNING as "state", and no outcome: it takes longer than half a minute, or the daemon that looks does not run; see History in a while.',
      '',
      'Press the play button, or Ctrl-Enter. This may make a new version.',
    ],
    operation: `
mutation Refresh($agentKey: String!, $environment: String) {
  refresh(agentKey: $agentKey, environment: $environment, waitSeconds: 30) {
    state
    outcome
    message
    matchingVersion
    version {
      knowledgeVersion
      isActive
    }
    faults {
      code
      relativePath
      line
      message
    }
    warnings {
      code
      relativePath
      message
    }
  }
}`,
    variables: onlyPackage,
  },
  {
    scope: 'ai.knowledge.rollback',
    words: [
      'ROLL BACK',
      'Gives agents an earlier version from now on, and holds it there: new versions are still captured, and none becomes active until you let go (the next tab).',
      '',
      'Under Variables, change "knowledgeVersion" to the version you want and "reason" to your own words. Then press the play button, or Ctrl-Enter. This changes what agents get, at once; it is undone in the same way, with the version that was active before.',
    ],
    operation: `
mutation RollBack($agentKey: String!, $environment: String, $knowledgeVersion: String!, $reason: String) {
  activate(
    agentKey: $agentKey
    environment: $environment
    knowledgeVersion: $knowledgeVersion
    hold: true
    reason: $reason
  ) {
    active {
      knowledgeVersion
      loadedAt
    }
    newest {
      knowledgeVersion
    }
    hold {
      reason
      actor
      at
    }
  }
}`,
    variables: (example) => ({
      ...onlyPackage(example),
      knowledgeVersion: example.beforeActive,
      reason: 'Agents answer wrongly since the last change; looking into it',
    }),
  },
  {
    scope: 'ai.knowledge.rollback',
    words: [
      'LET GO',
      'Ends a hold: versions become active by themselves again.',
      '',
      'With "activateNewest": true agents get the newest version at once; with false they keep what they have until the next version comes. Press the play button, or Ctrl-Enter.',
    ],
    operation: `
mutation LetGo($agentKey: String!, $environment: String, $activateNewest: Boolean) {
  release(agentKey: $agentKey, environment: $environment, activateNewest: $activateNewest) {
    active {
      knowledgeVersion
    }
    newest {
      knowledgeVersion
    }
    hold {
      reason
    }
  }
}`,
    variables: (example) => ({ ...onlyPackage(example), activateNewest: true }),
  },
  {
    scope: 'knowledge:read',
    words: [
      'COMPARE TWO VERSIONS',
      'What changed between two versions: files added, removed and renamed, and inside those that changed, line by line.',
      '',
      'Under Variables, change "from" and "to"; the tab History lists the versions. Press the play button, or Ctrl-Enter, then "Read as text". Nothing is changed.',
    ],
    operation: `
query CompareVersions($agentKey: String!, $environment: String, $from: String!, $to: String!) {
  versionDiff(agentKey: $agentKey, environment: $environment, from: $from, to: $to) {
    added {
      relativePath
    }
    removed {
      relativePath
    }
    renamed {
      from
      to
    }
    reordered
    changed {
      relativePath
      unified
    }
  }
}`,
    variables: (example) => ({
      ...onlyPackage(example),
      from: example.beforeNewest,
      to: example.newest,
    }),
  },
  {
    scope: 'knowledge:read',
    words: [
      'WATCH CHANGES',
      'Stays open and shows every new version, activation, hold and release as it happens.',
      '',
      'Press the play button, or Ctrl-Enter. Then change something elsewhere: save a file in the knowledge folder, or roll back in a second window of this page. The same button stops it.',
    ],
    operation: `
subscription WatchChanges($agentKey: String, $environment: String) {
  packageChanged(agentKey: $agentKey, environment: $environment) {
    kind
    knowledgeVersion
    activated
    at
    sequence
  }
}`,
    variables: onlyPackage,
  },
];
