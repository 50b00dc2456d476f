import { useState } from "preact/hooks";
import { useAccess } from "../api/access";
import { Button, ButtonLink } from "../components/Button";
import { useCollection } from "../hooks";
import { navigate } from "../router";
import { useNamespace } from "../settings";
import type { Role } from "../vm/status";
import { CustomizeDialog } from "./CustomizeDialog";
import { comparePath, createPath, refOf, SHAPES, type Shape } from "./shapes";

/** What a user can do with an instance type or preference. */
export function ShapeActions({ of: role, shape }: { of: Role; shape: Shape }) {
  const [isOpen, setOpen] = useState(false);
  const namespace = useNamespace();
  const may = useAccess(namespace);
  const { cluster, namespaced } = SHAPES[role];
  const mayCreate = [cluster, namespaced].some(({ plural }) => may("create", "instancetype.kubevirt.io", plural));
  return (
    <>
      <CompareWith of={role} shape={shape} />
      {mayCreate && <Button onClick={() => setOpen(true)}>Customize</Button>}
      {may("create", "kubevirt.io", "virtualmachines") && (
        <ButtonLink to={createPath(role, shape.metadata)} look="primary">
          Create a VM
        </ButtonLink>
      )}
      {isOpen && <CustomizeDialog of={role} source={shape} onClose={() => setOpen(false)} />}
    </>
  );
}

function CompareWith({ of: role, shape }: { of: Role; shape: Shape }) {
  const namespace = useNamespace();
  const cluster = useCollection(SHAPES[role].cluster).value ?? [];
  const own = useCollection(SHAPES[role].namespaced, namespace).value ?? [];
  const ref = refOf(shape.metadata);
  const refs = [...own, ...cluster].map(({ metadata }) => refOf(metadata)).filter((one) => one !== ref);
  return (
    <select
      class="input input-small"
      aria-label="Compare with"
      value=""
      onChange={(event) => navigate(comparePath(role, [ref, event.currentTarget.value]))}
    >
      <option value="">Compare with…</option>
      {refs.map((one) => (
        <option key={one}>{one}</option>
      ))}
    </select>
  );
}
