const steps = [
  { unit: 's', ms: 1000 },
  { unit: 'min', ms: 60_000 },
  { unit: 'h', ms: 3_600_000 },
  { unit: 'd', ms: 86_400_000 },
] as const;

/** How long ago a moment is, or how far ahead, in the largest unit that it fills: `3 min ago`, `in 2 d`. */
export function formatAge(time: Date | null, now: Date): string {
  if (time === null) return '-';
  const apart = now.getTime() - time.getTime();
  const step = steps.findLast(({ ms }) => Math.abs(apart) >= ms);
  if (step === undefined) return 'now';
  const span = `${Math.floor(Math.abs(apart) / step.ms)} ${step.unit}`;
  return apart > 0 ? `${span} ago` : `in ${span}`;
}
