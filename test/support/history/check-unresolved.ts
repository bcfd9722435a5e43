import { bringersOf, contentName } from './deeds.ts';
import { unaskedChanges } from './check-refused.ts';
import { faultsOf, type Check, type Fault, type PackageHistory } from './fault.ts';

/** C9: a deed whose end was unknown, or that was asked for again under its key, came about once or not at all (G8). */
export const checkUnresolved: Check = (history) => [
  ...unaskedChanges(history).filter(({ check }) => check === 'C9'),
  ...capturedTwice(history),
];

/** A bundle of contents that were each brought once cannot have been new twice. */
function capturedTwice(history: PackageHistory): Fault[] {
  const brought = bringersOf(history.deeds);
  const first = new Map<string, number>();
  return history.final.versions.flatMap(({ number, checksum, files }) => {
    const earlier = first.get(checksum);
    if (earlier === undefined) {
      first.set(checksum, number);
      return [];
    }
    const deeds = files.map((file) => brought.get(contentName(file)) ?? []);
    const bringer = deeds.flat()[0];
    if (bringer === undefined || deeds.some((bringers) => bringers.length > 1)) return [];
    const fault = faultsOf('C9', history);
    return [fault(bringer.calls[0], `its content captured once, as v${earlier}`, `once more as v${number}`)];
  });
}
