/** Which instance types and preferences can be used together, with the reasons for each pair that cannot. */
import { useMemo } from "preact/hooks";
import { CLUSTER_INSTANCETYPES, CLUSTER_PREFERENCES, INSTANCETYPES, PREFERENCES } from "../api/resources";
import { type Choice, FilterBar, optionsOf } from "../catalog/FilterBar";
import { describeInstancetypes, type InstancetypeEntry, orderOf } from "../catalog/instancetypes";
import { type Matrix, numberReasons, useMatrix } from "../catalog/matrix";
import { describePreference, type PreferenceEntry } from "../catalog/preferences";
import { type Query, useQuery } from "../catalog/query";
import { matchesSearch, shapePath } from "../catalog/shapes";
import { ButtonLink } from "../components/Button";
import { PageHeader } from "../components/PageHeader";
import { EmptyState, ErrorState, Loading } from "../components/States";
import { useCollection } from "../hooks";
import { Link } from "../router";
import { useNamespace } from "../settings";

export function CompatibilityMatrix() {
  const query = useQuery();
  const namespace = useNamespace();
  const { instancetypes, preferences, revision, error } = useEntries(namespace);
  const { rows, columns } = useShown(instancetypes, preferences, query);
  const checked = useMemo(() => instancetypes.map((entry) => entry.object), [instancetypes]);
  const matrix = useMatrix(checked, namespace, revision);
  const failure = error ?? matrix.error;
  if (failure) return <ErrorState title="The compatibility cannot be checked" error={failure} retry={matrix.reload} />;
  return (
    <>
      <PageHeader
        title="Compatibility matrix"
        about="Which instance types can be used with which preferences"
        actions={<ButtonLink to="/instancetypes">Instance types</ButtonLink>}
      />
      <FilterBar query={query} search="Search instance types" choices={listChoices(instancetypes, preferences)}>
        {matrix.value && <Total matrix={matrix.value} rows={rows} columns={columns} />}
      </FilterBar>
      {!matrix.value || matrix.value.size < checked.length || checked.length === 0 ? (
        <Loading label="Checking compatibility" />
      ) : rows.length === 0 || columns.length === 0 ? (
        <EmptyState title="No pair matches" />
      ) : (
        <MatrixTable matrix={matrix.value} rows={rows} columns={columns} />
      )}
    </>
  );
}

/** Load all objects that VMs of the namespace can use; the revision changes with any of them. */
function useEntries(namespace: string) {
  const types = useCollection(CLUSTER_INSTANCETYPES);
  const ownTypes = useCollection(INSTANCETYPES, namespace || "default");
  const tastes = useCollection(CLUSTER_PREFERENCES);
  const ownTastes = useCollection(PREFERENCES, namespace || "default");
  return useMemo(() => {
    const sizes = [...(ownTypes.value ?? []), ...(types.value ?? [])];
    const preferences = [...(ownTastes.value ?? []), ...(tastes.value ?? [])];
    const revisions = [...sizes, ...preferences].map(({ metadata }) => Number(metadata.resourceVersion) || 0);
    return {
      instancetypes: describeInstancetypes(sizes).sort(
        (one, other) => one.series.localeCompare(other.series) || orderOf(one) - orderOf(other),
      ),
      preferences: preferences.map(describePreference).sort((one, other) => (one.ref < other.ref ? -1 : 1)),
      revision: `${Math.max(0, ...revisions)}/${preferences.length}`,
      error: types.error ?? tastes.error,
    };
  }, [types, ownTypes, tastes, ownTastes]);
}

function listChoices(instancetypes: readonly InstancetypeEntry[], preferences: readonly PreferenceEntry[]): Choice[] {
  const series = [...new Set(instancetypes.map((entry) => entry.series))].sort();
  const systems = [...new Set(preferences.map((entry) => entry.os))].sort();
  return [
    { name: "series", label: "Series", options: optionsOf("Any series", series) },
    { name: "os", label: "Guest OS", options: optionsOf("Any guest OS", systems) },
  ];
}

function useShown(
  instancetypes: readonly InstancetypeEntry[],
  preferences: readonly PreferenceEntry[],
  query: Query,
): { rows: readonly InstancetypeEntry[]; columns: readonly PreferenceEntry[] } {
  const [search, series, os] = [query.get("q"), query.get("series"), query.get("os")];
  return useMemo(
    () => ({
      rows: instancetypes.filter((entry) => (!series || entry.series === series) && matchesSearch(entry.text, search)),
      columns: preferences.filter((entry) => !os || entry.os === os),
    }),
    [instancetypes, preferences, search, series, os],
  );
}

interface MatrixProps {
  matrix: Matrix;
  rows: readonly InstancetypeEntry[];
  columns: readonly PreferenceEntry[];
}

function Total({ matrix, rows, columns }: MatrixProps) {
  const accepted = rows.reduce(
    (sum, { ref }) => sum + columns.filter((column) => matrix.get(ref)?.get(column.ref)?.length === 0).length,
    0,
  );
  return (
    <span class="muted" role="status">
      {accepted} of {rows.length * columns.length} pairs can be used together
    </span>
  );
}

function MatrixTable({ matrix, rows, columns }: MatrixProps) {
  const numbers = useMemo(
    () =>
      numberReasons(
        matrix,
        rows.map(({ ref }) => ref),
        columns.map(({ ref }) => ref),
      ),
    [matrix, rows, columns],
  );
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard */}
      <section class="card matrix" tabIndex={0} aria-label="Compatibility matrix">
        <table class="matrix-table">
          <thead>
            <tr>
              <th scope="col" class="matrix-cell matrix-column matrix-row matrix-corner">
                Instance type
              </th>
              {columns.map(({ ref, object }) => (
                <th key={ref} scope="col" class="matrix-cell matrix-column">
                  <Link to={shapePath("preference", object.metadata)}>{ref}</Link>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ ref, object }) => (
              <tr key={ref}>
                <th scope="row" class="matrix-cell matrix-row">
                  <Link to={shapePath("instancetype", object.metadata)}>{ref}</Link>
                </th>
                {columns.map((column) => (
                  <Cell key={column.ref} reasons={matrix.get(ref)?.get(column.ref)} numbers={numbers} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {numbers.size > 0 && (
        <section class="matrix-reasons" aria-label="Reasons">
          <h2>Reasons</h2>
          <ol class="matrix-list">
            {[...numbers.keys()].map((reason) => (
              <li key={reason}>{reason}</li>
            ))}
          </ol>
        </section>
      )}
    </>
  );
}

function Cell({ reasons, numbers }: { reasons: readonly string[] | undefined; numbers: ReadonlyMap<string, number> }) {
  if (!reasons) return <td class="matrix-cell" />;
  if (reasons.length === 0) return <td class="matrix-cell matrix-yes">yes</td>;
  return (
    <td class="matrix-cell matrix-no" title={reasons.join("; ")}>
      no <small>{reasons.map((reason) => numbers.get(reason)).join(", ")}</small>
    </td>
  );
}
