/** Preferences as the catalog shows and filters them. */
import { useMemo } from "preact/hooks";
import type { Preference } from "../api/objects";
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

/** Stands for preferences without an architecture. */
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

/** Return entries by guest OS, the one with the most entries first. */
export function groupByOs(entries: readonly PreferenceEntry[]): [string, PreferenceEntry[]][] {
  const groups = Map.groupBy(entries, (entry) => entry.os);
  for (const group of groups.values())
    group.sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }));
  return [...groups].sort(([, one], [, other]) => other.length - one.length);
}

/** Memoize the entries of objects that change rarely. */
export function usePreferenceEntries(...lists: readonly (readonly Preference[])[]): PreferenceEntry[] {
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lists are the dependencies
  return useMemo(() => lists.flat().map(describePreference), lists);
}
