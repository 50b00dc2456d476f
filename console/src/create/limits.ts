/** The sizes that the sizing policy of an instance type allows, as steps of sliders. */
import type { InstancetypeSpec } from "../api/objects";
import { parseQuantity } from "../format";

const MAX_STEPS = 1000;

/** Return the allowed numbers of vCPUs, or the usual numbers if there are no limits. */
export function listVcpus({ cpu }: InstancetypeSpec, usual: readonly number[]): readonly number[] {
  if (!cpu?.limits) return usual;
  const { min, max, step = 1 } = cpu.limits;
  return listSteps(usual, min ?? step, max, step);
}

/** Return the bytes of memory that a VM with these vCPUs may have, or the usual sizes if there are no limits. */
export function listMemory({ memory }: InstancetypeSpec, vcpus: number, usual: readonly number[]): readonly number[] {
  if (!memory?.limits) return usual;
  const { min, max, step, perVCPU } = memory.limits;
  const by = parseQuantity(step) || undefined;
  const start = parseQuantity(min) || by || usual[0] || 1;
  const least = Math.max(start, (parseQuantity(perVCPU?.min) || 0) * vcpus);
  const ends = [parseQuantity(max), parseQuantity(perVCPU?.max) * vcpus].filter((end) => end > 0);
  const first = by ? start + Math.ceil((least - start) / by) * by : least;
  return listSteps(usual, first, ends.length ? Math.min(...ends) : undefined, by);
}

/** Return the value that is closest to the wanted one; the later of two that are equally close. */
export function closest(values: readonly number[], wanted: number): number {
  const distance = (value: number) => Math.abs(value - wanted);
  return values.reduce((best, value) => (distance(value) <= distance(best) ? value : best), values[0] ?? wanted);
}

/** Return the value, or the nearer end of the range that the values span. */
export function clamp(values: readonly number[], wanted: number): number {
  return Math.min(Math.max(wanted, values[0] ?? wanted), values.at(-1) ?? wanted);
}

function listSteps(usual: readonly number[], min?: number, max?: number, step?: number): readonly number[] {
  const first = min ?? usual[0] ?? 1;
  const last = max ?? Math.max(first, usual.at(-1) ?? first);
  if (step) {
    const count = Math.floor((last - first) / step);
    const by = step * Math.max(1, Math.ceil(count / MAX_STEPS));
    return Array.from({ length: Math.max(0, Math.floor((last - first) / by)) + 1 }, (_, index) => first + index * by);
  }
  return [...new Set([first, ...usual.filter((value) => value > first && value < last), last])];
}
