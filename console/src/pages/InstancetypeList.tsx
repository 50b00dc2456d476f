/** All instance types that VMs of the namespace can use: as a table, or as cards by series. */
import { useMemo } from "preact/hooks";
import type { Preference } from "../api/objects";
import { CLUSTER_INSTANCETYPES, CLUSTER_PREFERENCES, INSTANCETYPES, PREFERENCES } from "../api/resources";
import { CompareTray } from "../catalog/CompareTray";
import { FilterBar, optionsOf, SCOPE_CHOICE } from "../catalog/FilterBar";
import { type Fits, useCompatibility } from "../catalog/fits";
import { InstancetypeCards } from "../catalog/InstancetypeCards";
import { InstancetypeTable } from "../catalog/InstancetypeTable";
import { filterInstancetypes, type InstancetypeEntry, useInstancetypeEntries } from "../catalog/instancetypes";
import { type Query, useQuery } from "../catalog/query";
import { refOf } from "../catalog/shapes";
import { LiveIndicator } from "../components/LiveIndicator";
import { PageHeader } from "../components/PageHeader";
import { EmptyState, ErrorState, Loading } from "../components/States";
import { useCollection, useLive } from "../hooks";
import { useNamespace } from "../settings";

const NO_FITS: Fits = new Map();

export function InstancetypeList() {
  const namespace = useNamespace();
  const cluster = useLive(CLUSTER_INSTANCETYPES);
  const own = useLive(INSTANCETYPES, namespace);
  const query = useQuery();
  const entries = useInstancetypeEntries(cluster.items, own.items);
  const preferences = usePreferences(namespace);
  const preference = preferences.find(({ metadata }) => refOf(metadata) === query.get("preference")) ?? null;
  const compatibility = useCompatibility("preference", preference, namespace);
  const fits = (preference && compatibility.value) || NO_FITS;
  const matching = useFiltered(entries, query);
  const onlyFitting = query.get("fitting") !== "";
  const shown = useMemo(
    () => (onlyFitting ? matching.filter((entry) => !fits.get(entry.ref)) : matching),
    [matching, fits, onlyFitting],
  );
  const compared = query.list("compare");
  const compare = (refs: string[]) => query.set({ compare: refs.join(",") });
  const series = useMemo(() => [...new Set(entries.map((entry) => entry.series))].sort(), [entries]);

  if (cluster.state === "failed")
    return <ErrorState title="The instance types cannot be shown" error={cluster.error} retry={cluster.retry} />;
  const view = { entries: shown, fits: preference && fits, compared, onCompare: compare };
  const refused = matching.filter((entry) => fits.get(entry.ref)).length;
  return (
    <>
      <PageHeader
        title="Instance types"
        about="Sizes for virtual machines: vCPUs, memory and how the node provides them"
        actions={<ViewChoice query={query} />}
      />
      <FilterBar
        query={query}
        search="Search instance types"
        choices={[
          {
            name: "vcpus",
            label: "Minimum vCPUs",
            options: minimumOptions("vCPUs", ["2", "4", "8", "16", "32", "64"]),
          },
          { name: "memory", label: "Minimum memory", options: minimumOptions("memory", MEMORY) },
          { name: "series", label: "Series", options: optionsOf("Any series", series) },
          { name: "dedicated", label: "CPUs", options: DEDICATED },
          SCOPE_CHOICE,
          {
            name: "preference",
            label: "Compatible with preference",
            options: optionsOf(
              "Any preference",
              preferences.map(({ metadata }) => refOf(metadata)),
              (ref) => `For ${ref}`,
            ),
          },
        ]}
      >
        {preference && (
          <label class="check-label">
            <input
              type="checkbox"
              checked={onlyFitting}
              onChange={() => query.set({ fitting: onlyFitting ? "" : "only" })}
            />
            Hide {refused} incompatible
          </label>
        )}
        {preference && compatibility.error && (
          <span class="field-error" role="alert">
            The compatibility cannot be checked: {compatibility.error.message}
          </span>
        )}
        <span class="muted" role="status">
          {countOf(shown.length, entries.length)}
        </span>
        <LiveIndicator state={cluster.state === "live" ? own.state : cluster.state} />
      </FilterBar>
      {shown.length === 0 ? (
        <Nothing isLoading={cluster.state === "loading"} isFiltered={entries.length > 0} />
      ) : query.get("view") === "cards" ? (
        <InstancetypeCards {...view} />
      ) : (
        <InstancetypeTable {...view} />
      )}
      <CompareTray of="instancetype" refs={compared} onChange={compare} />
    </>
  );
}

const MEMORY = ["2Gi", "4Gi", "8Gi", "16Gi", "32Gi", "64Gi", "128Gi"];

const DEDICATED = [
  { value: "", label: "Any CPUs" },
  { value: "yes", label: "Dedicated CPUs" },
  { value: "no", label: "Shared CPUs" },
];

function minimumOptions(label: string, values: readonly string[]) {
  return optionsOf(`Any ${label}`, values, (value) => `${value} ${label === "memory" ? "" : `${label} `}or more`);
}

function countOf(shown: number, total: number): string {
  return shown === total ? `${total} instance types` : `${shown} of ${total} instance types`;
}

function useFiltered(entries: readonly InstancetypeEntry[], query: Query): readonly InstancetypeEntry[] {
  const search = query.get("q");
  const vcpus = Number(query.get("vcpus")) || 0;
  const memory = (Number.parseInt(query.get("memory"), 10) || 0) * 2 ** 30;
  const [series, dedicated, scope] = [query.get("series"), query.get("dedicated"), query.get("scope")];
  return useMemo(
    () => filterInstancetypes(entries, { search, vcpus, memory, series, dedicated, scope }),
    [entries, search, vcpus, memory, series, dedicated, scope],
  );
}

function usePreferences(namespace: string): Preference[] {
  const cluster = useCollection(CLUSTER_PREFERENCES).value;
  const own = useCollection(PREFERENCES, namespace).value;
  return useMemo(() => [...(own ?? []), ...(cluster ?? [])], [cluster, own]);
}

function ViewChoice({ query }: { query: Query }) {
  const isCards = query.get("view") === "cards";
  return (
    <fieldset class="segmented">
      <legend class="visually-hidden">View</legend>
      <button type="button" aria-pressed={!isCards} onClick={() => query.set({ view: "" })}>
        Table
      </button>
      <button type="button" aria-pressed={isCards} onClick={() => query.set({ view: "cards" })}>
        Cards
      </button>
    </fieldset>
  );
}

function Nothing({ isLoading, isFiltered }: { isLoading: boolean; isFiltered: boolean }) {
  if (isLoading) return <Loading label="Loading instance types" />;
  if (isFiltered)
    return (
      <EmptyState title="No instance type matches">
        <p>Remove a filter, or customize the nearest instance type.</p>
      </EmptyState>
    );
  return (
    <EmptyState title="There are no instance types">
      <p>
        <code>virtctl catalog | kubectl apply -f -</code> adds the built-in ones.
      </p>
    </EmptyState>
  );
}
