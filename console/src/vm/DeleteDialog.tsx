import { useState } from "preact/hooks";
import type { VirtualMachine } from "../api/objects";
import { Button } from "../components/Button";
import { Dialog } from "../components/Dialog";
import { deleteVm } from "./actions";
import { isRunning } from "./status";

interface DeleteDialogProps {
  vm: VirtualMachine;
  onClose: () => void;
  onDeleted: () => void;
}

/** Ask before a VM is deleted, and say what is deleted with it. */
export function DeleteDialog({ vm, onClose, onDeleted }: DeleteDialogProps) {
  const [busy, setBusy] = useState(false);
  const { name, namespace } = vm.metadata;
  const volumes = (vm.spec.dataVolumeTemplates ?? []) as { metadata?: { name?: string } }[];
  const names = volumes.map((volume) => volume.metadata?.name).filter(Boolean);

  const confirm = async () => {
    setBusy(true);
    if (await deleteVm(vm)) {
      onClose();
      onDeleted();
    } else {
      setBusy(false);
    }
  };
  const actions = (
    <>
      <Button onClick={onClose}>Cancel</Button>
      <Button look="danger" disabled={busy} onClick={confirm}>
        Delete {name}
      </Button>
    </>
  );
  return (
    <Dialog title={`Delete ${name}?`} onClose={onClose} actions={actions}>
      <p>
        The virtual machine <strong>{name}</strong> in namespace {namespace} is deleted
        {isRunning(vm) ? ", and its guest is shut down" : ""}. This cannot be undone.
      </p>
      {names.length > 0 && <p>Its own disks are deleted too: {names.join(", ")}. Other claims are kept.</p>}
      {names.length === 0 && <p>Persistent volume claims that it uses are kept.</p>}
    </Dialog>
  );
}
