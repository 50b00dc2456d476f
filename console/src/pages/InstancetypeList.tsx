/** All instance types that VMs of the namespace can use: as a table, or as cards by series. */
import { useMemo } from "preact/hooks";
import type { Preference } from "../api/objects";
import { CLUSTER_INSTANCETYPES, CLUSTER_PREFERENCES, INSTANCETYPES, PREFERENCES } from "../api/resources";
import { areLoading, CatalogState } from "../catalog/CatalogState";
import { CompareTray } from "../catalog/CompareTray";
import { type Choice, FilterBar, optionsOf, SCOPE_CHOICE } from "../catalog/FilterBar";
import { type Fits, useCompatibility } from "../catalog/fits";
import { InstancetypeCards } from "../catalog/InstancetypeCards";
import { InstancetypeTable } from "../catalog/InstancetypeTable";
import {
  filterInstancetypes,
  type InstancetypeEntry,
  type Minimum,
  useInstancetypeEntries,
} from "../catalog/instancetypes";
import { type Query, useQuery } from "../catalog/query";
import { refOf } from "../catalog/shapes";
import { useWastes } from "../catalog/wastes";
import { ButtonLink } from "../components/Button";
import { PageHeader } from "../components/PageHeader";
import { EmptyState, ErrorState, Loading } from "../components/States";
import { useCollection, useIsNarrow, useLive } from "../hooks";
import { useNamespace } from "../settings";

const NO_FITS: Fits = new Map();

export function InstancetypeList() {
  const namespace = useNamespace();
  const cluster = useLive(CLUSTER_INSTANCETYPES);
  const own = useLive(INSTANCETYPES, namespace);
  const query = useQuery();
  const entries = useInstancetypeEntries(cluster.items, own.items);
  const { preferences, isLoading } = usePreferences(namespace);
  const preference = preferences.find(({ metadata }) => refOf(metadata) === query.get("preference")) ?? null;
  const hasPreference = query.get("preference") !== "";
  const compatibility = useCompatibility("preference", preference, namespace);
  const fits = (preference && compatibility.value) || NO_FITS;
  const isChecking = preference ? !compatibility.value && !compatibility.error : isLoading && hasPreference;
  const minimum = useMinimum(query);
  const wastes = useWastes(minimum, namespace);
  const matching = useFiltered(entries, query, minimum);
  const onlyFitting = query.get("fitting") !== "";
  const shown = useMemo(
    () => (onlyFitting ? matching.filter((entry) => !fits.get(entry.ref)) : matching),
    [matching, fits, onlyFitting],
  );
  const isNarrow = useIsNarrow();
  const isCards = isNarrow ? query.get("view") !== "table" : query.get("view") === "cards";
  const compared = query.list("compare");
  const compare = (refs: string[]) => query.set({ compare: refs.join(",") });
  const series = useMemo(() => [...new Set(entries.map((entry) => entry.series))].sort(), [entries]);

  if (cluster.state === "failed")
    return <ErrorState title="The instance types cannot be shown" error={cluster.error} retry={cluster.retry} />;
  const sort = query.get("sort") || (minimum ? "waste" : "series");
  const onSort = (changed: string) => query.set({ sort: changed });
  const view = { entries: shown, fits: preference && fits, wastes, compared, onCompare: compare, sort, onSort };
  const refused = matching.filter((entry) => fits.get(entry.ref)).length;
  return (
    <>
      <PageHeader
        title="Instance types"
        about="Sizes for virtual machines: vCPUs, memory and how the node provides them"
        actions={
          <>
            <ButtonLink to="/matrix">Compatibility matrix</ButtonLink>
            <ViewChoice isCards={isCards} onCards={(cards) => query.set({ view: cards ? "cards" : "table" })} />
          </>
        }
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
        sort={isCards ? SORT : null}
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
        <CatalogState cluster={cluster} own={own} namespace={namespace} />
      </FilterBar>
      {areLoading(cluster, own) ? (
        <Loading label="Loading instance types" />
      ) : isChecking ? (
        <Loading label="Checking compatibility" />
      ) : shown.length === 0 ? (
        <Nothing isLoading={cluster.state === "loading"} isFiltered={entries.length > 0} />
      ) : isCards ? (
        <InstancetypeCards {...view} />
      ) : (
        <InstancetypeTable {...view} />
      )}
      <CompareTray of="instancetype" refs={compared} onChange={compare} />
    </>
  );
}

const MEMORY = ["2Gi", "4Gi", "8Gi", "16Gi", "32Gi", "64Gi", "128Gi"];

const SORT: Choice = {
  name: "sort",
  label: "Sort",
  options: [
    { value: "", label: "By series" },
    { value: "name", label: "By name" },
    { value: "vcpus", label: "Fewest vCPUs first" },
    { value: "-vcpus", label: "Most vCPUs first" },
    { value: "memory", label: "Least memory first" },
    { value: "-memory", label: "Most memory first" },
  ],
};

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

function useMinimum(query: Query): Minimum | null {
  const vcpus = Number(query.get("vcpus")) || 0;
  const memory = (Number.parseInt(query.get("memory"), 10) || 0) * 2 ** 30;
  return useMemo(() => (vcpus || memory ? { vcpus, memory } : null), [vcpus, memory]);
}

function useFiltered(
  entries: readonly InstancetypeEntry[],
  query: Query,
  minimum: Minimum | null,
): readonly InstancetypeEntry[] {
  const search = query.get("q");
  const [series, dedicated, scope] = [query.get("series"), query.get("dedicated"), query.get("scope")];
  return useMemo(
    () => filterInstancetypes(entries, { search, vcpus: 0, memory: 0, ...minimum, series, dedicated, scope }),
    [entries, search, minimum, series, dedicated, scope],
  );
}

function usePreferences(namespace: string): { preferences: readonly Preference[]; isLoading: boolean } {
  const cluster = useCollection(CLUSTER_PREFERENCES);
  const own = useCollection(PREFERENCES, namespace);
  const preferences = useMemo(() => [...(own.value ?? []), ...(cluster.value ?? [])], [cluster.value, own.value]);
  return { preferences, isLoading: cluster.isLoading || own.isLoading };
}

function ViewChoice({ isCards, onCards }: { isCards: boolean; onCards: (isCards: boolean) => void }) {
  return (
    <fieldset class="segmented">
      <legend class="visually-hidden">View</legend>
      <button type="button" aria-pressed={!isCards} onClick={() => onCards(false)}>
        Table
      </button>
      <button type="button" aria-pressed={isCards} onClick={() => onCards(true)}>
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
        <code>virtshape catalog | kubectl apply -f -</code> adds the built-in ones.
      </p>
    </EmptyState>
  );
}
