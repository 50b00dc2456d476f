/** How much of each instance type is more than a minimum, as the server computes it. */
import { recommend, type Waste } from "../api/previews";
import { useLoad } from "../hooks";
import { refIn } from "./fits";
import type { Minimum } from "./instancetypes";

/** Waste by the reference of the instance type; those that leave their size open or are not active are absent. */
export type Wastes = ReadonlyMap<string, Waste>;

const NONE: Wastes = new Map();

/** Return the waste above a minimum; null without a minimum. */
export function useWastes(minimum: Minimum | null, namespace: string): Wastes | null {
  const scope = namespace || "default";
  const need = minimum && {
    ...(minimum.vcpus && { cpuMin: minimum.vcpus }),
    ...(minimum.memory && { memoryMin: `${minimum.memory}` }),
  };
  const { value } = useLoad(`waste/${scope}/${JSON.stringify(need)}`, async (signal) => {
    if (!need) return NONE;
    const { items } = await recommend(scope, need, signal);
    return new Map(items.map((item) => [refIn(scope, "instancetype", item), item.waste]));
  });
  return minimum && (value ?? NONE);
}
