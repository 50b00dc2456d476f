/** How many more VMs the nodes can take, and what prevents the next one. */
import { useEffect } from "preact/hooks";
import type { Instancetype } from "../api/objects";
import { type Capacity, checkFit } from "../api/previews";
import { Loading } from "../components/States";
import { useLoad } from "../hooks";
import { useNamespace } from "../settings";
import { sizeOf } from "./instancetypes";
import { refOf, resourceOf } from "./shapes";

const REFRESH = 20_000;

/** The capacity for an instance type, read again every 20 seconds while the page is visible. */
export function CapacityCard({ shape }: { shape: Instancetype }) {
  const chosen = useNamespace() || "default";
  const { metadata, spec } = shape;
  const namespace = metadata.namespace ?? chosen;
  const { vcpus, memory } = sizeOf(spec);
  const isSized = vcpus !== null && memory !== null;
  const named = { name: metadata.name, kind: resourceOf("instancetype", metadata).kind };
  const key = `fit/${namespace}/${refOf(metadata)}/${metadata.resourceVersion}`;
  const { value, error, reload } = useLoad(key, async (signal) =>
    isSized ? checkFit(namespace, { instancetypes: [named] }, signal) : null,
  );
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), REFRESH);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <section class="card overview-card" aria-label="Capacity">
      <h2>Capacity</h2>
      {!isSized && <p class="muted">VMs set their size. The form for new VMs shows how many VMs of a size fit.</p>}
      {isSized && error && <p class="muted">{error.message}</p>}
      {isSized && !error && !value && <Loading label="Counting" />}
      {value && <CapacityView capacity={value} />}
    </section>
  );
}

function CapacityView({ capacity }: { capacity: Capacity }) {
  const { nodes, limits } = capacity;
  return (
    <>
      <p class="capacity-total">{describeTotal(capacity)}</p>
      {nodes?.length ? (
        <ul class="capacity-nodes" aria-label="Nodes">
          {nodes.map(({ node, fits, blockedBy }) => (
            <li key={node}>
              <strong>{node}</strong>: {formatCount(fits)}
              <p class="muted">The next one does not fit: the node {blockedBy.join(", ")}</p>
            </li>
          ))}
        </ul>
      ) : (
        limits.length > 0 && <p class="muted">{describeLimits(capacity)}</p>
      )}
    </>
  );
}

function formatCount(count: number): string {
  return count.toLocaleString("en");
}

/** Return how many VMs fit, as a sentence. */
export function describeTotal({ fits, limits }: Capacity): string {
  if (fits) return `${formatCount(fits)} more ${fits === 1 ? "VM fits" : "VMs fit"}`;
  return limits.length ? "No more VMs fit" : "No node runs VMs";
}

/** Return what prevents the next VM, without names of nodes. */
export function describeLimits({ limits }: Capacity): string {
  const parts = limits.map(({ limit, nodes }) => `${limit} (${nodes} ${nodes === 1 ? "node" : "nodes"})`);
  return parts.length ? `The next one is blocked by ${parts.join(", ")}.` : "";
}
