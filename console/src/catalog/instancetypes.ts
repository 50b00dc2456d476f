/** Instance types as the catalog shows, filters and sorts them. */
import { useMemo } from "preact/hooks";
import type { Instancetype, InstancetypeSpec, Topology } from "../api/objects";
import { CLUSTER_INSTANCETYPES, INSTANCETYPES } from "../api/resources";
import { parseQuantity } from "../format";
import type { SortKey } from "../sorting";
import { descriptionOf, matchesScope, matchesSearch, refOf, titleOf } from "./shapes";

export interface InstancetypeEntry {
  object: Instancetype;
  ref: string;
  name: string;
  series: string;
  title: string;
  size: Size;
  traits: readonly Trait[];
  /** The text that a search matches, in lower case. */
  text: string;
}

/** The size of an instance type; null means that the VM sets the value. */
export interface Size {
  vcpus: number | null;
  /** Only an exact topology; otherwise the preference distributes the vCPUs. */
  topology: Required<Topology> | null;
  memory: number | null;
}

export interface Trait {
  id: "dedicated" | "hugepages" | "numa" | "realtime" | "gpu" | "device" | "overcommit";
  label: string;
  title: string;
}

export interface InstancetypeFilter {
  search: string;
  vcpus: number;
  memory: number;
  series: string;
  dedicated: string;
  scope: string;
}

export const INSTANCETYPE_RESOURCES = [CLUSTER_INSTANCETYPES, INSTANCETYPES] as const;

export function describeInstancetypes(objects: readonly Instancetype[]): InstancetypeEntry[] {
  return objects.map(describeInstancetype);
}

export function describeInstancetype(object: Instancetype): InstancetypeEntry {
  const name = object.metadata.name;
  const title = titleOf(object);
  const traits = listTraits(object.spec);
  const words = [name, object.metadata.namespace, title, descriptionOf(object), ...traits.map((trait) => trait.label)];
  return {
    object,
    ref: refOf(object.metadata),
    name,
    series: seriesOf(name),
    title,
    size: sizeOf(object.spec),
    traits,
    text: words.join(" ").toLowerCase(),
  };
}

/** Return the part of a name before its first dot, such as u1, or "other". */
export function seriesOf(name: string): string {
  const dot = name.indexOf(".");
  return dot > 0 ? name.slice(0, dot) : "other";
}

export function sizeOf({ cpu, memory }: InstancetypeSpec): Size {
  const { sockets = 1, cores = 1, threads = 1 } = cpu?.topology ?? {};
  const topology = cpu?.topology ? { sockets, cores, threads } : null;
  const vcpus = topology ? sockets * cores * threads : cpu?.guest || null;
  return { vcpus, topology, memory: parseQuantity(memory?.guest) || null };
}

function listTraits({ cpu, memory, gpus = [], hostDevices = [] }: InstancetypeSpec): Trait[] {
  const traits: Trait[] = [];
  const add = (id: Trait["id"], label: string, title: string) => traits.push({ id, label, title });
  if (cpu?.dedicatedCPUPlacement) add("dedicated", "Dedicated CPUs", "Each vCPU runs on its own physical CPU");
  if (memory?.hugepages) {
    const { pageSize = "" } = memory.hugepages;
    add("hugepages", `Hugepages ${pageSize}`.trim(), "Huge pages back the memory of the guest");
  }
  if (cpu?.numa) add("numa", "NUMA", "The guest sees the NUMA layout of the node");
  if (cpu?.realtime) add("realtime", "Real time", "vCPUs run at real-time priority");
  if (gpus.length) add("gpu", countOf("GPU", gpus.length), gpus.map((gpu) => gpu.deviceName).join(", "));
  if (hostDevices.length)
    add("device", countOf("Device", hostDevices.length), hostDevices.map((one) => one.deviceName).join(", "));
  if (memory?.overcommitPercent)
    add(
      "overcommit",
      `Overcommit ${memory.overcommitPercent}%`,
      "The node reserves this share less memory than the guest has",
    );
  return traits;
}

function countOf(label: string, count: number): string {
  return count > 1 ? `${label} × ${count}` : label;
}

/** Return the entries that match the filters. A size that the VM sets is large enough for every minimum. */
export function filterInstancetypes(
  entries: readonly InstancetypeEntry[],
  filter: InstancetypeFilter,
): readonly InstancetypeEntry[] {
  return entries.filter(
    ({ object, text, size, series, traits }) =>
      (size.vcpus ?? Number.POSITIVE_INFINITY) >= filter.vcpus &&
      (size.memory ?? Number.POSITIVE_INFINITY) >= filter.memory &&
      (!filter.series || series === filter.series) &&
      (!filter.dedicated || traits.some(({ id }) => id === "dedicated") === (filter.dedicated === "yes")) &&
      matchesScope(object, filter.scope) &&
      matchesSearch(text, filter.search),
  );
}

/** The minimum size that a VM needs; 0 means any size. */
export type Minimum = Pick<InstancetypeFilter, "vcpus" | "memory">;

/** Return entries by series, each from the smallest to the largest; open sizes are last. */
export function groupBySeries(entries: readonly InstancetypeEntry[]): [string, InstancetypeEntry[]][] {
  const groups = Map.groupBy(entries, (entry) => entry.series);
  for (const group of groups.values()) group.sort((one, other) => orderOf(one) - orderOf(other));
  return [...groups].sort(([one], [other]) => (one < other ? -1 : 1));
}

/** Return a number that grows with vCPUs first, then with memory. */
export function orderOf({ size }: InstancetypeEntry): number {
  return (size.vcpus ?? 1e6) * 2 ** 30 + Math.round((size.memory ?? 0) / 2 ** 20);
}

/** The values that entries are sorted by, for each sortable column of the table and each order of cards. */
export const INSTANCETYPE_ORDERS: Record<string, (entry: InstancetypeEntry) => SortKey> = {
  series: (entry) => `${entry.series} ${orderOf(entry)}`,
  name: (entry) => entry.ref,
  vcpus: (entry) => (entry.size.vcpus === null ? null : orderOf(entry)),
  memory: ({ size }) => size.memory,
};

/** Memoize the entries of objects that change rarely. */
export function useInstancetypeEntries(...lists: readonly (readonly Instancetype[])[]): InstancetypeEntry[] {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lists are the dependencies
  return useMemo(() => describeInstancetypes(lists.flat()), lists);
}
