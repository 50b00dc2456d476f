import { useMemo } from "preact/hooks";
import { Badge } from "../components/Badge";
import { type Column, Table } from "../components/Table";
import { formatBytes } from "../format";
import { Link } from "../router";
import { CompareChoice } from "./CompareTray";
import type { Fits } from "./fits";
import { type InstancetypeEntry, orderOf } from "./instancetypes";
import { MemoryBar } from "./MemoryBar";
import { shapePath } from "./shapes";
import { describeVcpus, TopologyPicture } from "./TopologyPicture";
import { Traits } from "./Traits";

export interface InstancetypeViewProps {
  entries: readonly InstancetypeEntry[];
  /** Reasons of the chosen preference, or null without one. */
  fits: Fits | null;
  compared: string[];
  onCompare: (refs: string[]) => void;
}

/** Instance types, one in each row. */
export function InstancetypeTable({ entries, fits, compared, onCompare }: InstancetypeViewProps) {
  const chosen = compared.join(",");
  // biome-ignore lint/correctness/useExhaustiveDependencies: `chosen` stands for `compared` and what `onCompare` changes
  const columns = useMemo(() => buildColumns(fits, compared, onCompare), [fits, chosen]);
  return (
    <div class="instancetype-table">
      <Table
        label="Instance types"
        columns={columns}
        rows={entries}
        rowKey={(entry) => entry.ref}
        sorted="series"
        empty={null}
      />
    </div>
  );
}

function buildColumns(
  fits: Fits | null,
  compared: string[],
  onCompare: (refs: string[]) => void,
): Column<InstancetypeEntry>[] {
  const columns: Column<InstancetypeEntry>[] = [
    {
      id: "compare",
      title: "Compare",
      width: "5.5rem",
      optional: 2,
      render: ({ ref }) => <CompareChoice item={ref} refs={compared} onChange={onCompare} />,
    },
    {
      id: "name",
      title: "Name",
      width: "11rem",
      render: ({ object, ref }) => (
        <Link to={shapePath("instancetype", object.metadata)} class="row-link" title={ref}>
          {ref}
        </Link>
      ),
      sortBy: (entry) => entry.ref,
    },
    {
      id: "vcpus",
      title: "vCPUs",
      width: "12rem",
      render: ({ size }) => (
        <span class="cell-picture" title={describeVcpus(size)}>
          <span class="cell-number">{size.vcpus ?? "open"}</span>
          <TopologyPicture size={size} />
        </span>
      ),
      sortBy: orderOf,
    },
    {
      id: "memory",
      title: "Memory",
      width: "11rem",
      render: ({ size }) => (
        <span class="cell-picture">
          <span class="cell-number">{size.memory === null ? "open" : formatBytes(size.memory)}</span>
          <MemoryBar bytes={size.memory} />
        </span>
      ),
      sortBy: ({ size }) => size.memory ?? Number.MAX_SAFE_INTEGER,
    },
    {
      id: "traits",
      title: "Features",
      optional: 2,
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
      sortBy: seriesOrder,
    },
  ];
  if (fits) columns.splice(2, 0, fitColumn(fits));
  return columns;
}

/** Order by series, then by size. */
function seriesOrder(entry: InstancetypeEntry): string {
  return `${entry.series} ${orderOf(entry)}`;
}

function fitColumn(fits: Fits): Column<InstancetypeEntry> {
  return {
    id: "fits",
    title: "Compatible",
    width: "30%",
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
