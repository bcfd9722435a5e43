import { fine, trouble, type Advice, type Check } from '../../core/check.ts';
import { counted } from '../../core/count.ts';
import { wantedBytes } from '../../store/room.ts';

const area = 'disk';

export interface DiskFacts {
  /** One entry per disk that holds something of ours. */
  readonly spaces: readonly {
    readonly path: string;
    readonly freeBytes: number;
    readonly totalBytes: number;
  }[];
  readonly dataFolder: FileMode;
  /** Files that hold a secret. */
  readonly secretFiles: readonly FileMode[];
}

interface FileMode {
  readonly path: string;
  /** Null where it is not there, or where modes mean nothing. */
  readonly mode: number | null;
}

/** Room for what is stored, and who may read the secrets beside it. */
export function checkDisk({ spaces, dataFolder, secretFiles }: DiskFacts): Check[] {
  return [...spaces.map(checkSpace), ...checkModes(dataFolder, secretFiles)];
}

function checkSpace({ path, freeBytes, totalBytes }: DiskFacts['spaces'][number]): Check {
  const share = totalBytes === 0 ? 0 : freeBytes / totalBytes;
  const found = `${Math.floor(freeBytes / 1024 / 1024)} MiB (${Math.floor(share * 100)} %) are free where ${path} lies.`;
  return freeBytes < wantedBytes(totalBytes)
    ? trouble({ area, name: 'disk_full', found }, full)
    : fine({ area, name: 'free_space', found });
}

function checkModes(dataFolder: FileMode, secretFiles: readonly FileMode[]): Check[] {
  const checks = secretFiles
    .filter(({ mode }) => mode !== null && (mode & 0o077) !== 0)
    .map(({ path, mode }) =>
      trouble(
        { area, name: 'secret_readable', found: `${path} has the mode ${octal(mode)}; expected 0600.` },
        {
          ...leaked,
          fix: `Run "chmod 600" on it, and replace the key or password if others use this machine.`,
        },
      ),
    );
  if (dataFolder.mode !== null && (dataFolder.mode & 0o022) !== 0) {
    const found = `Others may write into the data folder ${dataFolder.path} (mode ${octal(dataFolder.mode)}).`;
    checks.push(trouble({ area, name: 'data_folder_open', found }, open));
  }
  if (checks.length > 0) return checks;
  const there = secretFiles.filter(({ mode }) => mode !== null).length;
  const found =
    dataFolder.mode === null
      ? `The data folder ${dataFolder.path} keeps no secret on this machine.`
      : `Only its owner may change the data folder ${dataFolder.path}; ${counted(there, 'file')} with secrets in it ${there === 1 ? 'is' : 'are'} private.`;
  return [fine({ area, name: 'modes', found })];
}

function octal(mode: number | null): string {
  return `0${((mode ?? 0) & 0o777).toString(8).padStart(3, '0')}`;
}

const full: Advice = {
  meaning: 'New versions are refused before the disk is full; reads go on.',
  fix: 'Free space, or give the folder a larger disk.',
  who: 'operator',
};
const leaked = {
  meaning: 'Other users of this machine can read the secret in it.',
  who: 'operator',
} as const;
const open: Advice = {
  meaning: 'They could plant a key or a password there.',
  fix: 'Run "chmod 700" on it.',
  who: 'operator',
};
