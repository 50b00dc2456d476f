/** All preferences that VMs of the namespace can use, by guest OS. */
import { useMemo } from "preact/hooks";
import { CLUSTER_PREFERENCES, PREFERENCES } from "../api/resources";
import { areLoading, CatalogState } from "../catalog/CatalogState";
import { CompareTray } from "../catalog/CompareTray";
import { type Choice, FilterBar, optionsOf, SCOPE_CHOICE } from "../catalog/FilterBar";
import { PreferenceCards } from "../catalog/PreferenceCards";
import {
  ANY_ARCHITECTURE,
  filterPreferences,
  type PreferenceEntry,
  usePreferenceEntries,
} from "../catalog/preferences";
import { type Query, useQuery } from "../catalog/query";
import { ButtonLink } from "../components/Button";
import { PageHeader } from "../components/PageHeader";
import { EmptyState, ErrorState, Loading } from "../components/States";
import { useLive } from "../hooks";
import { useNamespace } from "../settings";

export function PreferenceList() {
  const cluster = useLive(CLUSTER_PREFERENCES);
  const namespace = useNamespace();
  const own = useLive(PREFERENCES, namespace);
  const query = useQuery();
  const entries = usePreferenceEntries(cluster.items, own.items);
  const shown = useFiltered(entries, query);
  const compared = query.list("compare");
  const compare = (refs: string[]) => query.set({ compare: refs.join(",") });
  const systems = useMemo(() => [...new Set(entries.map((entry) => entry.os))].sort(), [entries]);
  const architectures = useMemo(() => listArchitectures(entries), [entries]);

  if (cluster.state === "failed")
    return <ErrorState title="The preferences cannot be shown" error={cluster.error} retry={cluster.retry} />;
  return (
    <>
      <PageHeader
        title="Preferences"
        about="What a guest OS runs best with: devices, firmware, clock and CPU topology"
        actions={<ButtonLink to="/matrix">Compatibility matrix</ButtonLink>}
      />
      <FilterBar
        query={query}
        search="Search preferences"
        choices={[
          { name: "os", label: "Guest OS", options: optionsOf("Any guest OS", systems) },
          {
            name: "architecture",
            label: "Architecture",
            options: optionsOf("Any architecture", architectures, (one) =>
              one === ANY_ARCHITECTURE ? "Not restricted" : one,
            ),
          },
          SCOPE_CHOICE,
        ]}
        sort={SORT}
      >
        <span class="muted" role="status">
          {shown.length === entries.length ? shown.length : `${shown.length} of ${entries.length}`} preferences
        </span>
        <CatalogState cluster={cluster} own={own} namespace={namespace} />
      </FilterBar>
      {areLoading(cluster, own) || shown.length === 0 ? (
        <Nothing isLoading={areLoading(cluster, own)} isFiltered={entries.length > 0} />
      ) : (
        <PreferenceCards entries={shown} compared={compared} onCompare={compare} sort={query.get("sort")} />
      )}
      <CompareTray of="preference" refs={compared} onChange={compare} />
    </>
  );
}

const SORT: Choice = {
  name: "sort",
  label: "Sort",
  options: [
    { value: "", label: "By guest OS" },
    { value: "name", label: "By name" },
    { value: "memory", label: "Least memory first" },
    { value: "-memory", label: "Most memory first" },
  ],
};

function listArchitectures(entries: readonly PreferenceEntry[]): string[] {
  return [...new Set(entries.map((entry) => entry.architecture || ANY_ARCHITECTURE))].sort();
}

function useFiltered(entries: readonly PreferenceEntry[], query: Query): readonly PreferenceEntry[] {
  const [search, os, architecture, scope] = ["q", "os", "architecture", "scope"].map(query.get) as [
    string,
    string,
    string,
    string,
  ];
  return useMemo(
    () => filterPreferences(entries, { search, os, architecture, scope }),
    [entries, search, os, architecture, scope],
  );
}

function Nothing({ isLoading, isFiltered }: { isLoading: boolean; isFiltered: boolean }) {
  if (isLoading) return <Loading label="Loading preferences" />;
  return <EmptyState title={isFiltered ? "No preference matches" : "There are no preferences"} />;
}
