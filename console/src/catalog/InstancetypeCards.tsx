import { useMemo } from "preact/hooks";
import { useGrowing } from "./growing";
import { InstancetypeCard } from "./InstancetypeCard";
import type { InstancetypeViewProps } from "./InstancetypeTable";
import { groupBySeries, type InstancetypeEntry } from "./instancetypes";
import { descriptionOf } from "./shapes";

/** Instance types as cards, a section for each series. */
export function InstancetypeCards({ entries, fits, compared, onCompare }: InstancetypeViewProps) {
  const groups = useMemo(() => groupBySeries(entries), [entries]);
  const { count, end } = useGrowing(entries.length);
  let left = count;
  return (
    <div class="series-list">
      {groups.map(([series, group]) => {
        const shown = group.slice(0, Math.max(0, left));
        left -= shown.length;
        if (shown.length === 0) return null;
        return (
          <section key={series} class="series" aria-labelledby={`series-${series}`}>
            <h2 id={`series-${series}`}>
              {series} {group[0]?.title && <span class="muted">{group[0].title}</span>}
            </h2>
            <p class="muted series-about">{aboutSeries(group)}</p>
            <ul class="shape-grid">
              {shown.map((entry) => (
                <InstancetypeCard
                  key={entry.ref}
                  entry={entry}
                  compared={compared}
                  onCompare={onCompare}
                  reason={fits?.get(entry.ref) ?? ""}
                />
              ))}
            </ul>
          </section>
        );
      })}
      <div ref={end} />
    </div>
  );
}

function aboutSeries([first]: readonly InstancetypeEntry[]): string {
  return first ? descriptionOf(first.object) : "";
}
