import { useMemo } from "preact/hooks";
import { parseSort, sortItems } from "../sorting";
import { useGrowing } from "./growing";
import { InstancetypeCard } from "./InstancetypeCard";
import type { InstancetypeViewProps } from "./InstancetypeTable";
import { groupBySeries, INSTANCETYPE_ORDERS, type InstancetypeEntry } from "./instancetypes";
import { descriptionOf } from "./shapes";

type Cards = Omit<InstancetypeViewProps, "onSort">;

/** Instance types as cards: in a section for each series, or all together in another order. */
export function InstancetypeCards(props: Cards) {
  const { entries, sort } = props;
  const groups = useMemo(() => groupEntries(entries, sort), [entries, sort]);
  const { count, end } = useGrowing(entries.length);
  let left = count;
  return (
    <div class="series-list">
      {groups.map(([series, group]) => {
        const shown = group.slice(0, Math.max(0, left));
        left -= shown.length;
        if (shown.length === 0) return null;
        const grid = <CardGrid {...props} entries={shown} />;
        if (!series) return grid;
        return (
          <section key={series} class="series" aria-labelledby={`series-${series}`}>
            <h2 id={`series-${series}`}>
              {series} {group[0]?.title && <span class="muted">{group[0].title}</span>}
            </h2>
            <p class="muted series-about">{aboutSeries(group)}</p>
            {grid}
          </section>
        );
      })}
      <div ref={end} />
    </div>
  );
}

/** Return the entries by series, or in one group without a name if they have another order. */
function groupEntries(entries: readonly InstancetypeEntry[], sort: string): [string, readonly InstancetypeEntry[]][] {
  const { column, descending } = parseSort(sort);
  const sortBy = INSTANCETYPE_ORDERS[column];
  if (sortBy && column !== "series") return [["", sortItems(entries, sortBy, descending)]];
  const groups = groupBySeries(entries);
  return descending ? groups.reverse() : groups;
}

function CardGrid({ entries, fits, compared, onCompare }: Cards) {
  return (
    <ul class="shape-grid">
      {entries.map((entry) => (
        <InstancetypeCard
          key={entry.ref}
          entry={entry}
          compared={compared}
          onCompare={onCompare}
          reason={fits?.get(entry.ref) ?? ""}
        />
      ))}
    </ul>
  );
}

function aboutSeries([first]: readonly InstancetypeEntry[]): string {
  return first ? descriptionOf(first.object) : "";
}
