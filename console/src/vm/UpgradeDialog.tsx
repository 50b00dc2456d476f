import { useState } from "preact/hooks";
import { describeError } from "../api/client";
import type { VirtualMachine } from "../api/objects";
import { compareValues } from "../compare";
import { Button } from "../components/Button";
import { Changes } from "../components/Changes";
import { Dialog } from "../components/Dialog";
import { Loading } from "../components/States";
import { toast } from "../components/Toasts";
import { useLoad } from "../hooks";
import { compareVersions, upgradeVm } from "./actions";
import { isRunning, type Role } from "./status";

interface UpgradeDialogProps {
  vm: VirtualMachine;
  roles: readonly Role[];
  onClose: () => void;
}

/** Show what changes in a VM with the current instance type and preference, and upgrade it. */
export function UpgradeDialog({ vm, roles, onClose }: UpgradeDialogProps) {
  const [shown] = useState({ vm, roles }); // the VM changes while the upgrade runs; the dialog stays as it is
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState("");
  const name = shown.vm.metadata.name;
  const { value: changes, error } = useLoad(`upgrade/${vm.metadata.uid}`, async () => {
    await upgradeVm(shown.vm, shown.roles, true);
    return compareValues(...(await compareVersions(shown.vm, shown.roles)), "spec");
  });

  const confirm = async () => {
    setBusy(true);
    try {
      await upgradeVm(shown.vm, shown.roles, false);
      toast.success(
        `${name} is upgraded`,
        isRunning(vm) ? "Its conditions show whether the guest needs a restart." : "",
      );
      onClose();
    } catch (refused) {
      setFailure(describeError(refused));
      setBusy(false);
    }
  };
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button look="primary" disabled={busy || !changes} onClick={confirm}>
        Upgrade {name}
      </Button>
    </>
  );
  const objects = shown.roles.map((role) => shown.vm.spec[role]?.name).join(" and ");
  return (
    <Dialog title={`Upgrade ${name}`} onClose={onClose} actions={actions} wide>
      <p>
        {objects} changed after {name} stored a copy. {name} uses the copy until it is upgraded.
        {isRunning(vm) && " A running guest gets the changes at its next restart, unless they can be hot-plugged."}
      </p>
      {!changes && !error && <Loading label="Comparing" />}
      {changes && <Changes changes={changes} none="The change has no effect on this VM." />}
      {(failure || error) && (
        <p class="field-error" role="alert">
          {failure || error?.message}
        </p>
      )}
    </Dialog>
  );
}
