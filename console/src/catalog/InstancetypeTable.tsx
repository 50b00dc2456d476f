import { useMemo } from "preact/hooks";
import { formatWaste } from "../api/previews";
import { Badge } from "../components/Badge";
import { type Column, Table } from "../components/Table";
import { formatBytes } from "../format";
import { Link } from "../router";
import { CompareChoice } from "./CompareTray";
import type { Fits } from "./fits";
import { INSTANCETYPE_ORDERS, type InstancetypeEntry, orderOf } from "./instancetypes";
import { LifecycleBadge } from "./Lifecycle";
import { MemoryBar } from "./MemoryBar";
import { shapePath } from "./shapes";
import { describeVcpus, TopologyPicture } from "./TopologyPicture";
import { Traits } from "./Traits";
import type { Wastes } from "./wastes";

export interface InstancetypeViewProps {
  entries: readonly InstancetypeEntry[];
  /** Reasons of the chosen preference, or null without one. */
  fits: Fits | null;
  /** Waste above the minimum that the user asks for, or null without one. */
  wastes: Wastes | null;
  compared: string[];
  onCompare: (refs: string[]) => void;
  /** Order of the entries, in the format of sorting.ts. */
  sort: string;
  onSort: (sort: string) => void;
}

/** Instance types, one in each row. */
export function InstancetypeTable(props: InstancetypeViewProps) {
  const { entries, fits, wastes, compared, onCompare, sort, onSort } = props;
  const chosen = compared.join(",");
  // biome-ignore lint/correctness/useExhaustiveDependencies: `chosen` stands for `compared` and what `onCompare` changes
  const columns = useMemo(() => buildColumns(fits, wastes, compared, onCompare), [fits, wastes, chosen]);
  return (
    <div class="instancetype-table">
      <Table
        key={wastes ? "waste" : "series"}
        label="Instance types"
        columns={columns}
        rows={entries}
        rowKey={(entry) => entry.ref}
        sorted={sort}
        onSorted={onSort}
        empty={null}
      />
    </div>
  );
}

function buildColumns(
  fits: Fits | null,
  wastes: Wastes | null,
  compared: string[],
  onCompare: (refs: string[]) => void,
): Column<InstancetypeEntry>[] {
  const columns: Column<InstancetypeEntry>[] = [
    {
      id: "compare",
      title: "Compare",
      width: "5.5rem",
      narrowWidth: "2.75rem",
      hidesTitle: true,
      render: ({ ref }) => <CompareChoice item={ref} refs={compared} onChange={onCompare} />,
    },
    {
      id: "name",
      title: "Name",
      width: "11rem",
      narrowWidth: "auto",
      render: ({ object, ref }) => (
        <>
          <Link to={shapePath("instancetype", object.metadata)} class="row-link" title={ref}>
            {ref}
          </Link>{" "}
          <LifecycleBadge metadata={object.metadata} />
        </>
      ),
      ...sortedAs("name"),
    },
    {
      id: "vcpus",
      title: "vCPUs",
      width: fits ? "9rem" : "12rem",
      narrowWidth: "4rem",
      ...(fits && { optional: 2 }),
      render: ({ size }) => (
        <span class="cell-picture" title={describeVcpus(size)}>
          <span class="cell-number">{size.vcpus ?? "open"}</span>
          <TopologyPicture size={size} />
        </span>
      ),
      ...sortedAs("vcpus"),
    },
    {
      id: "memory",
      title: "Memory",
      width: fits ? "10rem" : "11rem",
      narrowWidth: "5rem",
      ...(fits && { optional: 2 }),
      render: ({ size }) => (
        <span class="cell-picture">
          <span class="cell-number">{size.memory === null ? "open" : formatBytes(size.memory)}</span>
          <MemoryBar bytes={size.memory} />
        </span>
      ),
      ...sortedAs("memory"),
    },
    {
      id: "traits",
      title: "Features",
      optional: 1,
      render: ({ traits }) => (
        <span class={fits ? "cell-traits cell-traits-compact" : "cell-traits"}>
          <Traits traits={traits} compact={fits !== null} />
        </span>
      ),
      sortBy: ({ traits }) => traits.map((trait) => trait.label).join(),
    },
    {
      id: "series",
      title: "Series",
      optional: 1,
      width: fits ? "5.5rem" : "15rem",
      render: (entry) => (fits ? entry.series : entry.title || entry.series),
      ...sortedAs("series"),
    },
  ];
  if (wastes) columns.splice(4, 0, wasteColumn(wastes));
  if (fits) columns.splice(2, 0, fitColumn(fits));
  return columns;
}

function sortedAs(id: string): Pick<Column<InstancetypeEntry>, "sortBy"> {
  const sortBy = INSTANCETYPE_ORDERS[id];
  return sortBy ? { sortBy } : {};
}

function wasteColumn(wastes: Wastes): Column<InstancetypeEntry> {
  return {
    id: "waste",
    title: "Waste",
    width: "12rem",
    render: ({ ref, size }) => {
      const waste = wastes.get(ref);
      const isOpen = size.vcpus === null || size.memory === null;
      return <span title="Share above the minimum">{waste ? formatWaste(waste) : isOpen ? "open" : ""}</span>;
    },
    sortBy: (entry) => {
      const { cpu, memory } = wastes.get(entry.ref) ?? { cpu: 100, memory: 100 }; // open sizes are last
      return (cpu ?? 0) + (memory ?? 0) + orderOf(entry) / 2 ** 60;
    },
  };
}

function fitColumn(fits: Fits): Column<InstancetypeEntry> {
  return {
    id: "fits",
    title: "Compatible",
    width: "30%",
    narrowWidth: "52%",
    render: ({ ref }) => {
      const reason = fits.get(ref);
      if (reason === undefined) return "";
      return reason ? (
        <span class="cell-reason" title={reason}>
          {reason}
        </span>
      ) : (
        <Badge tone="good">Yes</Badge>
      );
    },
    sortBy: ({ ref }) => fits.get(ref) ?? "",
  };
}
