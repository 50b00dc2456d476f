import { useMemo, useState } from "preact/hooks";
import { describeError, request } from "../api/client";
import type { Instancetype, Preference, VirtualMachine } from "../api/objects";
import { type Move, previewMove } from "../api/previews";
import { objectPath, VMS } from "../api/resources";
import { describeLifecycle } from "../catalog/Lifecycle";
import { SHAPES, type Shape } from "../catalog/shapes";
import { describeValue } from "../compare";
import { Button } from "../components/Button";
import { Changes } from "../components/Changes";
import { Dialog } from "../components/Dialog";
import { SelectField } from "../components/Field";
import { Picker } from "../components/Picker";
import { Loading } from "../components/States";
import { toast } from "../components/Toasts";
import { describeInstancetype, describePreference } from "../create/Shape";
import { useCollection, useLoad } from "../hooks";
import { kindOf, ROLES, type Role } from "./status";

interface ChangeTypeDialogProps {
  vm: VirtualMachine;
  onClose: () => void;
}

/** Choose another instance type or preference for a VM, show what changes in its instance and when, and apply it. */
export function ChangeTypeDialog({ vm, onClose }: ChangeTypeDialogProps) {
  const [shown] = useState(vm); // the VM changes while the change is applied; the dialog stays as it is
  const { name, namespace = "" } = shown.metadata;
  const [role, setRole] = useState<Role>("instancetype");
  const [chosen, setChosen] = useState(""); // kind/name
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState("");
  const { value: move, error } = useLoad(`move/${vm.metadata.uid}/${role}/${chosen}`, async (signal) =>
    chosen ? { chosen, ...(await previewMove(namespace, name, destination(role, chosen), signal)) } : null,
  );
  const current = move?.chosen === chosen ? move : null;

  const choose = (value: string) => {
    setChosen(value);
    setFailure("");
  };
  const apply = async () => {
    if (!current) return;
    setBusy(true);
    try {
      await request("PATCH", objectPath(VMS, name, namespace), {
        body: current.patch,
        contentType: "application/merge-patch+json",
      });
      toast.success(`${name} uses ${chosen.split("/").at(-1)}`, EFFECT[current.applies]);
      onClose();
    } catch (refused) {
      setFailure(describeError(refused));
      setBusy(false);
    }
  };
  const isReady = current !== null && current.problems.length === 0 && !error;
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button look="primary" disabled={busy || !isReady} onClick={apply}>
        Change {name}
      </Button>
    </>
  );
  return (
    <Dialog title={`Change the instance type or preference of ${name}`} onClose={onClose} actions={actions} wide>
      <div class="form-row">
        <SelectField
          label="Change"
          value={role}
          onValue={(value) => {
            setRole(value as Role);
            choose("");
          }}
          options={ROLES.map(({ role: value, label }) => ({ value, label }))}
          hint={`Now: ${shown.spec[role]?.name ?? "none"}`}
        />
        <ShapePicker key={role} of={role} vm={shown} value={chosen} onValue={choose} />
      </div>
      {chosen && !current && !error && <Loading label="Comparing" />}
      {current && <MoveView move={current} />}
      {(failure || error) && (
        <p class="field-error" role="alert">
          {failure || error?.message}
        </p>
      )}
    </Dialog>
  );
}

const EFFECT: Record<Move["applies"], string> = {
  "at start": "The guest gets the changes when the VM starts.",
  immediately: "The running guest gets the changes immediately.",
  "at restart": "The guest gets the changes at its next restart.",
};

function destination(role: Role, chosen: string) {
  const [kind = "", name = ""] = chosen.split("/", 2);
  return role === "instancetype" ? { instancetype: { kind, name } } : { preference: { kind, name } };
}

interface ShapePickerProps {
  of: Role;
  vm: VirtualMachine;
  value: string;
  onValue: (value: string) => void;
}

/** All instance types or preferences that the VM can use, except the one that it uses. */
function ShapePicker({ of: role, vm, value, onValue }: ShapePickerProps) {
  const { cluster, namespaced, label } = SHAPES[role];
  const everywhere = useCollection(cluster).value;
  const own = useCollection(namespaced, vm.metadata.namespace ?? "").value;
  const matcher = vm.spec[role];
  const used = matcher ? `${kindOf(role, matcher)}/${matcher.name}` : "";
  const options = useMemo(
    () =>
      [
        ...(own ?? []).map((shape) => optionOf(role, namespaced.kind, shape)),
        ...(everywhere ?? []).map((shape) => optionOf(role, cluster.kind, shape)),
      ].filter((option) => option.value !== used),
    [role, own, everywhere, namespaced, cluster, used],
  );
  return <Picker label={`New ${label}`} options={options} value={value} onValue={onValue} placeholder="Choose…" />;
}

function optionOf(role: Role, kind: string, shape: Shape) {
  return {
    value: `${kind}/${shape.metadata.name}`,
    label: shape.metadata.name,
    detail:
      role === "instancetype" ? describeInstancetype(shape as Instancetype) : describePreference(shape as Preference),
    problem: describeLifecycle(shape.metadata) || undefined,
  };
}

/** When the instance changes, what changes, and why the VM cannot move. */
function MoveView({ move }: { move: Move }) {
  const changes = move.changes?.map(({ field, then, now }) => ({
    field,
    before: describeValue(then),
    after: describeValue(now),
  }));
  return (
    <>
      {move.problems.length > 0 && (
        <ul class="notice notice-bad" role="alert">
          {move.problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
      {move.warnings.map((warning) => (
        <p key={warning} class="notice notice-warning" role="status">
          {warning}
        </p>
      ))}
      {move.problems.length === 0 && (
        <p class={move.applies === "at restart" ? "notice notice-warning" : "notice notice-good"} role="status">
          {EFFECT[move.applies]} {move.restartReason}
        </p>
      )}
      {changes && <Changes changes={changes} none="The change has no effect on the instance." />}
      {!changes && move.problems.length === 0 && (
        <p>The changes are unknown, because the stored revision of the VM was deleted.</p>
      )}
    </>
  );
}
