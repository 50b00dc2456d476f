/** The life cycle of an instance type or preference: active, deprecated or retired, and its replacement. */
import type { ObjectMeta } from "../api/objects";
import { Badge } from "../components/Badge";

/** Keys of the label and the annotation that define the life cycle. */
export const LABEL = "virtshape.io/lifecycle";
export const REPLACEMENT = "virtshape.io/replacement";

interface Lifecycle {
  state: "active" | "deprecated" | "retired";
  /** NAME or KIND/NAME of the object to use instead, or an empty string. */
  replacement: string;
}

function lifecycleOf({ labels = {}, annotations = {} }: ObjectMeta): Lifecycle {
  const replacement = annotations[REPLACEMENT] ?? "";
  const stated = labels[LABEL];
  if (stated === "active" || stated === "deprecated" || stated === "retired") return { state: stated, replacement };
  const isDeprecated = labels["instancetype.kubevirt.io/deprecated"] === "true";
  return { state: isDeprecated ? "deprecated" : "active", replacement };
}

/** Return why the object should not be used, or an empty string if it is active. */
export function describeLifecycle(metadata: ObjectMeta): string {
  const { state, replacement } = lifecycleOf(metadata);
  if (state === "active") return "";
  const effect = state === "retired" ? "retired: new VMs cannot use it" : "deprecated";
  return replacement ? `${effect}; use ${replacement} instead` : effect;
}

export function LifecycleBadge({ metadata }: { metadata: ObjectMeta }) {
  const { state } = lifecycleOf(metadata);
  if (state === "active") return null;
  return (
    <Badge tone={state === "retired" ? "bad" : "warning"} title={describeLifecycle(metadata)}>
      {state}
    </Badge>
  );
}
