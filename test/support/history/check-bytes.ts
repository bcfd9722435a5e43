import { sha256 } from '../../../src/core/checksum.ts';
import { faultsOf, type Check, type Fault, type PackageHistory } from './fault.ts';
import type { Call, SeenFile } from './record.ts';

/** C6: the bytes that were read, and those that are kept, hash to what was said of them, file by file and as a bundle (G4). */
export const checkBytes: Check = (history) => [
  ...history.calls.flatMap((call) =>
    call.result.files
      ? wrongBytes(history, call, {
          files: call.result.files,
          checksum: call.result.seen?.checksum ?? null,
        })
      : [],
  ),
  ...history.final.versions.flatMap((version) => wrongBytes(history, `v${version.number}`, version)),
];

function wrongBytes(
  history: PackageHistory,
  about: string | Call,
  { files, checksum }: { files: readonly SeenFile[]; checksum: string | null },
): Fault[] {
  const fault = faultsOf('C6', history);
  const wrong = files
    .filter((file) => file.contentChecksum !== file.checksum)
    .map(({ relativePath, checksum: said, contentChecksum }) =>
      fault(about, `${relativePath} with bytes of checksum ${said}`, contentChecksum ?? 'no bytes'),
    );
  const bundle = sha256(files.map((file) => `${file.checksum}  ${file.relativePath}\n`).join(''));
  if (bundle !== checksum) wrong.push(fault(about, `the bundle ${checksum}`, `files of bundle ${bundle}`));
  return wrong;
}
