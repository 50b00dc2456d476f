/** What is special about an instance type: dedicated CPUs, huge pages, NUMA, GPUs. */
import type { Trait } from "./instancetypes";

const PATHS: Record<Trait["id"], string> = {
  dedicated: "M4 4h8v8H4zM6 1v3M10 1v3M6 12v3M10 12v3M1 6h3M1 10h3M12 6h3M12 10h3",
  hugepages: "M2 3h12v4H2zM2 9h12v4H2z",
  numa: "M2 3h5v4H2zM9 3h5v4H9zM2 9h5v4H2zM9 9h5v4H9z",
  realtime: "M8 2a6 6 0 1 0 .01 0M8 5v3l2 2",
  gpu: "M1 4h14v8H1zM5 8a2 2 0 1 0 .01-.01M11 8a2 2 0 1 0 .01-.01M3 12v2M6 12v2",
  device: "M8 2v9M5 5l3-3 3 3M4 9v4h8V9",
  overcommit: "M3 13V8M8 13V4M13 13V2",
};

/** With `compact`, the label is only in the tooltip and for screen readers. */
export function Traits({ traits, compact = false }: { traits: readonly Trait[]; compact?: boolean }) {
  return (
    <>
      {traits.map(({ id, label, title }) => (
        <span key={id} class={`trait trait-${id}`} title={compact ? label : title}>
          <svg viewBox="0 0 16 16" width="13" height="13" aria-hidden="true">
            <path d={PATHS[id]} />
          </svg>
          {compact ? <span class="visually-hidden">{label}</span> : label}
        </span>
      ))}
    </>
  );
}
