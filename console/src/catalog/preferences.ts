/** Preferences as the catalog shows and filters them. */
import { useMemo } from "preact/hooks";
import type { Preference } from "../api/objects";
import { parseQuantity } from "../format";
import { parseSort, type SortKey, sortItems } from "../sorting";
import { descriptionOf, matchesScope, matchesSearch, refOf, titleOf } from "./shapes";

export interface PreferenceEntry {
  object: Preference;
  ref: string;
  name: string;
  title: string;
  /** Type of the guest OS, such as linux or windows. */
  os: string;
  /** First part of the name, such as fedora. */
  family: string;
  /** Required or preferred architecture, or an empty text. */
  architecture: string;
  text: string;
}

export interface PreferenceFilter {
  search: string;
  os: string;
  architecture: string;
  scope: string;
}

/** The filter value for preferences without an architecture. */
export const ANY_ARCHITECTURE = "any";

export function describePreference(object: Preference): PreferenceEntry {
  const name = object.metadata.name;
  const title = titleOf(object);
  const { requirements, preferredArchitecture = "" } = object.spec;
  const architecture = requirements?.architecture ?? preferredArchitecture;
  const os = osOf(object);
  return {
    object,
    ref: refOf(object.metadata),
    name,
    title,
    os,
    family: name.split(/[.-]/)[0] ?? name,
    architecture,
    text: [name, object.metadata.namespace, title, descriptionOf(object), os, architecture].join(" ").toLowerCase(),
  };
}

function osOf({ metadata, spec }: Preference): string {
  const { "vm.kubevirt.io/os": os } = (spec.annotations ?? {}) as Record<string, string>;
  return metadata.labels?.["instancetype.kubevirt.io/os-type"] ?? os ?? "other";
}

export function filterPreferences(
  entries: readonly PreferenceEntry[],
  filter: PreferenceFilter,
): readonly PreferenceEntry[] {
  return entries.filter(
    (entry) =>
      (!filter.os || entry.os === filter.os) &&
      (!filter.architecture || (entry.architecture || ANY_ARCHITECTURE) === filter.architecture) &&
      matchesScope(entry.object, filter.scope) &&
      matchesSearch(entry.text, filter.search),
  );
}

const ORDERS: Record<string, (entry: PreferenceEntry) => SortKey> = {
  name: (entry) => entry.ref,
  memory: ({ object }) => parseQuantity(object.spec.requirements?.memory?.guest) || null,
};

/**
 * Return entries by guest OS, the one with the most entries first and each by name; or in one group without a name, if
 * they have another order.
 */
export function orderPreferences(
  entries: readonly PreferenceEntry[],
  sort: string,
): [string, readonly PreferenceEntry[]][] {
  const { column, descending } = parseSort(sort);
  const sortBy = ORDERS[column];
  const byName = sortItems(entries, (entry) => entry.name, false);
  if (sortBy) return [["", sortItems(byName, sortBy, descending)]];
  return [...Map.groupBy(byName, (entry) => entry.os)].sort(([, one], [, other]) => other.length - one.length);
}

/** Memoize the entries of objects that change rarely. */
export function usePreferenceEntries(...lists: readonly (readonly Preference[])[]): PreferenceEntry[] {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lists are the dependencies
  return useMemo(() => lists.flat().map(describePreference), lists);
}
