/** Up to four instance types or preferences side by side, with the fields that differ. */
import { useMemo } from "preact/hooks";
import type { Instancetype } from "../api/objects";
import { describeInstancetype } from "../catalog/instancetypes";
import { MemoryBar } from "../catalog/MemoryBar";
import { useQuery } from "../catalog/query";
import { COMPARED, loadShape, parseRef, SHAPES, type Shape, shapePath } from "../catalog/shapes";
import { describeVcpus, TopologyPicture } from "../catalog/TopologyPicture";
import { isSame } from "../compare";
import { ButtonLink } from "../components/Button";
import { PageHeader } from "../components/PageHeader";
import { EmptyState, ErrorState, Loading } from "../components/States";
import { formatBytes } from "../format";
import { useLoad } from "../hooks";
import { Link } from "../router";
import type { Role } from "../vm/status";
import { yamlLines } from "../yaml";

export function InstancetypeComparison() {
  return <Comparison of="instancetype" />;
}

export function PreferenceComparison() {
  return <Comparison of="preference" />;
}

function Comparison({ of: role }: { of: Role }) {
  const query = useQuery();
  const refs = query.list("names").slice(0, COMPARED);
  const { label, labels, path } = SHAPES[role];
  const { value, error, reload } = useLoad(`compare/${role}/${refs.join()}`, (signal) =>
    Promise.all(refs.map((ref) => loadShape(role, parseRef(ref), signal))),
  );
  if (refs.length < 2)
    return (
      <EmptyState title={`Choose at least two ${labels} to compare`}>
        <ButtonLink to={`/${path}`}>Show the {labels}</ButtonLink>
      </EmptyState>
    );
  if (error) return <ErrorState title={`The ${labels} cannot be compared`} error={error} retry={reload} />;
  if (!value || value.length !== refs.length) return <Loading label={`Loading the ${labels}`} />;
  const onlyDifferences = query.get("fields") !== "all";
  const back = <ButtonLink to={`/${path}?${new URLSearchParams({ compare: refs.join() })}`}>Choose others</ButtonLink>;
  return (
    <>
      <PageHeader title={`Compare ${labels}`} about={refs.join(", ")} actions={back} />
      <div class="toolbar">
        <label class="check-label">
          <input
            type="checkbox"
            checked={onlyDifferences}
            onChange={() => query.set({ fields: onlyDifferences ? "all" : "" })}
          />
          Only fields that differ
        </label>
      </div>
      <ComparisonTable of={role} refs={refs} shapes={value} label={label} onlyDifferences={onlyDifferences} />
    </>
  );
}

interface ComparisonTableProps {
  of: Role;
  refs: readonly string[];
  shapes: readonly Shape[];
  label: string;
  onlyDifferences: boolean;
}

function ComparisonTable({ of: role, refs, shapes, label, onlyDifferences }: ComparisonTableProps) {
  const rows = useMemo(() => compareFields(shapes), [shapes]);
  const shown = onlyDifferences ? rows.filter((row) => row.differs) : rows;
  const look = onlyDifferences ? "card scroll-x comparison" : "card scroll-x comparison comparison-all";
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
    <section class={look} tabIndex={0} aria-label={`Comparison of the ${label}s`}>
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">Field</th>
            {refs.map((ref, at) => (
              <th key={ref} scope="col">
                <Link to={shapePath(role, parseRef(ref))}>{ref}</Link>
                {role === "instancetype" && <SizePicture shape={shapes[at] as Instancetype} />}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.map(({ field, values, differs }) => (
            <tr key={field} class={differs ? "differs" : ""}>
              <th scope="row" class="mono">
                {field}
              </th>
              {values.map((value, at) => (
                <td key={refs[at]} class="mono">
                  {value ?? <span class="muted">not set</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length === 0 && <p class="comparison-none">Their specs are the same.</p>}
    </section>
  );
}

function SizePicture({ shape }: { shape: Instancetype }) {
  const { size } = describeInstancetype(shape);
  return (
    <div class="comparison-size">
      <TopologyPicture size={size} />
      <span>{describeVcpus(size)}</span>
      <MemoryBar bytes={size.memory} />
      <span>{size.memory === null ? "memory set by the VM" : formatBytes(size.memory)}</span>
    </div>
  );
}

interface Row {
  field: string;
  values: (string | undefined)[];
  differs: boolean;
}

/** Return a row for each field that one of the specs has. */
function compareFields(shapes: readonly Shape[]): Row[] {
  const specs = shapes.map(
    ({ spec }) =>
      new Map(
        yamlLines(spec)
          .filter((line) => line.value)
          .map((line) => [line.path, line.value]),
      ),
  );
  const fields = new Set(specs.flatMap((spec) => [...spec.keys()]));
  return [...fields].map((field) => {
    const values = specs.map((spec) => spec.get(field));
    return { field, values, differs: values.some((value) => !isSame(value, values[0])) };
  });
}
