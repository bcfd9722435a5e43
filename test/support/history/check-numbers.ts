import { faultsOf, type Check } from './fault.ts';

/** C1: the numbers are 1, 2, 3 … without a gap, none twice, and the counter stands behind the last one (G1). */
export const checkNumbers: Check = (history) => {
  const fault = faultsOf('C1', history);
  const { versions, nextNumber } = history.final;
  const wrong = versions.findIndex(({ number }, index) => number !== index + 1);
  const faults =
    wrong < 0 ? [] : [fault('its versions', `v${wrong + 1} next`, `v${versions[wrong]?.number}`)];
  if (nextNumber !== versions.length + 1) {
    faults.push(fault('its counter', `next number ${versions.length + 1}`, `${nextNumber}`));
  }
  return faults;
};
