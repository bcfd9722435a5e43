import { constants } from 'node:fs';
import { access, lstat, realpath, stat } from 'node:fs/promises';
import { errorCode } from './system-error.ts';

/** What can be told about a root folder beside what a look tells. */
export interface RootSurvey {
  readonly realPath: string;
  /** Whether the path itself is a symbolic link. */
  readonly isLink: boolean;
  /** Whether this user may see the names in it: without that, look-alikes and conflict copies go unnoticed. */
  readonly mayList: boolean;
  /** Whether this user may go through it to the files. */
  readonly mayPass: boolean;
}

/** Surveys a root that is there; throws the system's error where it is not. */
export async function surveyRoot(path: string): Promise<RootSurvey> {
  const may = (mode: number): Promise<boolean> =>
    access(path, mode).then(
      () => true,
      () => false, // Whatever stands in the way: it may not.
    );
  return {
    realPath: await realpath(path),
    isLink: (await lstat(path)).isSymbolicLink(),
    mayList: await may(constants.R_OK),
    mayPass: await may(constants.X_OK),
  };
}

/** Whether what keeps the root from being seen is that this user may not pass through a folder above it. */
export async function isRootOutOfReach(path: string): Promise<boolean> {
  try {
    await stat(path);
    return false;
  } catch (error) {
    return ['EACCES', 'EPERM'].includes(errorCode(error));
  }
}
