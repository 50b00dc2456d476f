import { useMemo } from "preact/hooks";
import { useGrowing } from "./growing";
import { PreferenceCard } from "./PreferenceCard";
import { orderPreferences, type PreferenceEntry } from "./preferences";

interface PreferenceCardsProps {
  entries: readonly PreferenceEntry[];
  compared: string[];
  onCompare: (refs: string[]) => void;
  /** Order of the entries, in the format of sorting.ts. */
  sort: string;
}

const OS_LABELS: Record<string, string> = {
  linux: "Linux",
  windows: "Windows",
  legacy: "Without virtio drivers",
  other: "Other",
};

/** Preferences as cards: in a section for each guest OS, or all together in another order. */
export function PreferenceCards({ entries, compared, onCompare, sort }: PreferenceCardsProps) {
  const groups = useMemo(() => orderPreferences(entries, sort), [entries, sort]);
  const { count, end } = useGrowing(entries.length);
  let left = count;
  return (
    <div class="series-list">
      {groups.map(([os, group]) => {
        const visible = group.slice(0, Math.max(0, left));
        left -= visible.length;
        if (visible.length === 0) return null;
        const grid = (
          <ul class="shape-grid">
            {visible.map((entry) => (
              <PreferenceCard key={entry.ref} entry={entry} compared={compared} onCompare={onCompare} />
            ))}
          </ul>
        );
        if (!os) return grid;
        return (
          <section key={os} class="series" aria-label={OS_LABELS[os] ?? os}>
            <h2>{OS_LABELS[os] ?? os}</h2>
            {grid}
          </section>
        );
      })}
      <div ref={end} />
    </div>
  );
}
