/** All preferences that VMs of the namespace can use, by guest OS. */
import { useMemo } from "preact/hooks";
import { CLUSTER_PREFERENCES, PREFERENCES } from "../api/resources";
import { CompareTray } from "../catalog/CompareTray";
import { FilterBar, optionsOf, SCOPE_CHOICE } from "../catalog/FilterBar";
import { useGrowing } from "../catalog/growing";
import { PreferenceCard } from "../catalog/PreferenceCard";
import {
  ANY_ARCHITECTURE,
  filterPreferences,
  groupByOs,
  type PreferenceEntry,
  usePreferenceEntries,
} from "../catalog/preferences";
import { type Query, useQuery } from "../catalog/query";
import { LiveIndicator } from "../components/LiveIndicator";
import { PageHeader } from "../components/PageHeader";
import { EmptyState, ErrorState, Loading } from "../components/States";
import { useLive } from "../hooks";
import { useNamespace } from "../settings";

export function PreferenceList() {
  const cluster = useLive(CLUSTER_PREFERENCES);
  const own = useLive(PREFERENCES, useNamespace());
  const query = useQuery();
  const entries = usePreferenceEntries(cluster.items, own.items);
  const shown = useFiltered(entries, query);
  const groups = useMemo(() => groupByOs(shown), [shown]);
  const { count, end } = useGrowing(shown.length);
  const compared = query.list("compare");
  const compare = (refs: string[]) => query.set({ compare: refs.join(",") });
  const systems = useMemo(() => [...new Set(entries.map((entry) => entry.os))].sort(), [entries]);
  const architectures = useMemo(() => listArchitectures(entries), [entries]);

  if (cluster.state === "failed")
    return <ErrorState title="The preferences cannot be shown" error={cluster.error} retry={cluster.retry} />;
  let left = count;
  return (
    <>
      <PageHeader
        title="Preferences"
        about="What a guest OS runs best with: devices, firmware, clock and CPU topology"
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
      >
        <span class="muted" role="status">
          {shown.length === entries.length ? shown.length : `${shown.length} of ${entries.length}`} preferences
        </span>
        <LiveIndicator state={cluster.state === "live" ? own.state : cluster.state} />
      </FilterBar>
      {shown.length === 0 && <Nothing isLoading={cluster.state === "loading"} isFiltered={entries.length > 0} />}
      <div class="series-list">
        {groups.map(([os, group]) => {
          const visible = group.slice(0, Math.max(0, left));
          left -= visible.length;
          if (visible.length === 0) return null;
          return (
            <section key={os} class="series" aria-label={OS_LABELS[os] ?? os}>
              <h2>{OS_LABELS[os] ?? os}</h2>
              <ul class="shape-grid">
                {visible.map((entry) => (
                  <PreferenceCard key={entry.ref} entry={entry} compared={compared} onCompare={compare} />
                ))}
              </ul>
            </section>
          );
        })}
        <div ref={end} />
      </div>
      <CompareTray of="preference" refs={compared} onChange={compare} />
    </>
  );
}

const OS_LABELS: Record<string, string> = {
  linux: "Linux",
  windows: "Windows",
  legacy: "Without virtio drivers",
  other: "Other",
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
