/**
 * The buttons of a VM: start or stop and restart, upgrade, another instance type, delete. Deleting and changes of the
 * type require a confirmation.
 */
import { useState } from "preact/hooks";
import { useAccess } from "../api/access";
import type { VirtualMachine } from "../api/objects";
import { Button } from "../components/Button";
import { navigate } from "../router";
import { type Action, runAction } from "./actions";
import { ChangeTypeDialog } from "./ChangeTypeDialog";
import type { Catalog } from "./catalog";
import { listOutdated } from "./catalog";
import { DeleteDialog } from "./DeleteDialog";
import { isRunning } from "./status";
import { UpgradeDialog } from "./UpgradeDialog";

const SUBRESOURCES = "subresources.kubevirt.io";

export function VmActions({ vm, catalog }: { vm: VirtualMachine; catalog: Catalog | null }) {
  const [busy, setBusy] = useState(false);
  const [dialog, setDialog] = useState<"delete" | "upgrade" | "change" | null>(null);
  const allowed = useAccess(vm.metadata.namespace ?? "");
  const outdated = listOutdated(vm, catalog);
  const isDeleted = vm.metadata.deletionTimestamp !== undefined;

  const run = async (action: Action) => {
    setBusy(true);
    await runAction(vm, action);
    setBusy(false);
  };
  const button = (action: Action, label: string) => {
    const may = allowed("update", SUBRESOURCES, `virtualmachines/${action}`);
    return (
      <Button disabled={busy || isDeleted || !may} title={may ? "" : NOT_ALLOWED} onClick={() => run(action)}>
        {label}
      </Button>
    );
  };
  const mayDelete = allowed("delete", "kubevirt.io", "virtualmachines");
  const mayPatch = allowed("patch", "kubevirt.io", "virtualmachines");

  return (
    <>
      {outdated.length > 0 && (
        <Button look="primary" disabled={isDeleted || !mayPatch} onClick={() => setDialog("upgrade")}>
          Upgrade…
        </Button>
      )}
      {isRunning(vm) ? button("restart", "Restart") : button("start", "Start")}
      {isRunning(vm) && button("stop", "Stop")}
      <Button disabled={isDeleted || !mayPatch} title={mayPatch ? "" : NOT_ALLOWED} onClick={() => setDialog("change")}>
        Change instance type…
      </Button>
      <Button
        look="danger"
        disabled={isDeleted || !mayDelete}
        title={mayDelete ? "" : NOT_ALLOWED}
        onClick={() => setDialog("delete")}
      >
        Delete…
      </Button>
      {dialog === "delete" && (
        <DeleteDialog vm={vm} onClose={() => setDialog(null)} onDeleted={() => navigate("/vms")} />
      )}
      {dialog === "change" && <ChangeTypeDialog vm={vm} onClose={() => setDialog(null)} />}
      {dialog === "upgrade" && <UpgradeDialog vm={vm} roles={outdated} onClose={() => setDialog(null)} />}
    </>
  );
}

const NOT_ALLOWED = "You do not have permission for this action";
