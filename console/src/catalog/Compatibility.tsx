/** Which objects of the other role fit this one, and for the others the reason. */
import { useMemo } from "preact/hooks";
import { ErrorState, Loading } from "../components/States";
import { Link } from "../router";
import { useNamespace } from "../settings";
import type { Role } from "../vm/status";
import { type Fits, useCompatibility } from "./fits";
import { parseRef, SHAPES, type Shape, shapePath } from "./shapes";

export function Compatibility({ of: role, shape }: { of: Role; shape: Shape }) {
  const { value, error, reload } = useCompatibility(role, shape, useNamespace());
  const groups = useMemo(() => groupByReason(value ?? new Map()), [value]);
  const other: Role = role === "instancetype" ? "preference" : "instancetype";
  if (error) return <ErrorState title="The compatibility cannot be checked" error={error} retry={reload} />;
  if (!value) return <Loading label="Checking compatibility" />;
  const accepted = groups.get("") ?? [];
  const refused = [...groups].filter(([reason]) => reason).sort(([, one], [, next]) => next.length - one.length);
  return (
    <div class="compatibility">
      <h2>
        <span class="badge badge-good">Compatible</span> {accepted.length} of {value.size} {SHAPES[other].labels}
      </h2>
      <Refs of={other} refs={accepted} />
      {refused.map(([reason, refs]) => (
        <div key={reason} class="compatibility-refused">
          <h2>
            <span class="badge badge-bad">Not compatible</span> {reason}
          </h2>
          <Refs of={other} refs={refs} />
        </div>
      ))}
    </div>
  );
}

function groupByReason(fits: Fits): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [ref, reason] of fits) groups.set(reason, [...(groups.get(reason) ?? []), ref]);
  return groups;
}

function Refs({ of: role, refs }: { of: Role; refs: readonly string[] }) {
  return (
    <ul class="chips">
      {refs.map((ref) => (
        <li key={ref}>
          <Link class="chip" to={shapePath(role, parseRef(ref))}>
            {ref}
          </Link>
        </li>
      ))}
    </ul>
  );
}
