import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './system-error.ts';

export interface FileSystemType {
  /** Such as `ext4` or `nfs`; the number that the system gave where it is not known here. */
  readonly name: string;
  /** Whether its files may be changed by another kernel, which this one's watchers are never told of (W15). */
  readonly network: boolean;
}

/** File systems whose changes may be made elsewhere: network mounts, shared folders of virtual machines, FUSE. */
const networkTypes: Readonly<Record<number, string>> = {
  0x6969: 'nfs',
  0x517b: 'smb',
  0xfe534d42: 'smb2',
  0xff534d42: 'cifs',
  0x65735546: 'fuse',
  0x01021997: '9p',
  0x786f4256: 'vboxsf',
  0xbacbacbc: 'vmhgfs',
  0x7c7c6673: 'prl_fs',
  0x5346414f: 'afs',
  0x6b414653: 'afs',
  0x73757245: 'coda',
  0x564c: 'ncp',
  0x00c36400: 'ceph',
  0x01161970: 'gfs2',
  0x7461636f: 'ocfs2',
  0x0bd00bd0: 'lustre',
  0x47504653: 'gpfs',
  0x19830326: 'beegfs',
};

const localTypes: Readonly<Record<number, string>> = {
  0xef53: 'ext4',
  0x58465342: 'xfs',
  0x9123683e: 'btrfs',
  0x01021994: 'tmpfs',
  0x794c7630: 'overlay',
  0x2fc12fc1: 'zfs',
  0xf2f52010: 'f2fs',
  0xca451a4e: 'bcachefs',
  0x4d44: 'vfat',
  0x2011bab0: 'exfat',
  0x5346544e: 'ntfs',
  0x7366746e: 'ntfs3',
};

/**
 * What kind of file system holds this path; for an absent path, its nearest present ancestor. The numbers are Linux's:
 * other systems say nothing that could be used, so there the answer is `unknown` and not `network`.
 *
 * Throws what the system says where it cannot tell.
 */
export async function readFileSystemType(path: string): Promise<FileSystemType> {
  const type = await readType(path);
  return process.platform === 'linux' ? nameFileSystem(type) : { name: 'unknown', network: false };
}

/** The name that goes with a magic number of Linux. */
export function nameFileSystem(type: number): FileSystemType {
  const number = type >>> 0; // Some systems give it with a sign.
  const network = networkTypes[number];
  if (network !== undefined) return { name: network, network: true };
  return { name: localTypes[number] ?? `0x${number.toString(16)}`, network: false };
}

async function readType(path: string): Promise<number> {
  for (let candidate = path; ; candidate = dirname(candidate)) {
    try {
      return (await statfs(candidate)).type;
    } catch (error) {
      const absent = ['ENOENT', 'ENOTDIR'].includes(errorCode(error));
      if (!absent || dirname(candidate) === candidate) throw error;
    }
  }
}
