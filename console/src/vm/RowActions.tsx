import { useState } from "preact/hooks";
import { useAccess } from "../api/access";
import type { VirtualMachine } from "../api/objects";
import { type Action, runAction } from "./actions";
import { DeleteDialog } from "./DeleteDialog";
import { isRunning } from "./status";

/** Buttons in a row of the list: start, or restart and stop; and delete. */
export function RowActions({ vm }: { vm: VirtualMachine }) {
  const [busy, setBusy] = useState(false);
  const [isDeleting, setDeleting] = useState(false);
  const { name, namespace = "", deletionTimestamp } = vm.metadata;
  const allowed = useAccess(namespace);
  const button = (action: Action, label: string) => (
    <button
      type="button"
      class="button button-row"
      aria-label={`${label} ${name}`}
      disabled={busy || deletionTimestamp !== undefined}
      onClick={async () => {
        setBusy(true);
        await runAction(vm, action);
        setBusy(false);
      }}
    >
      {label}
    </button>
  );
  return (
    <span class="row-actions">
      {allowed("update", "subresources.kubevirt.io", "virtualmachines/start") &&
        (isRunning(vm) ? (
          <>
            {button("restart", "Restart")}
            {button("stop", "Stop")}
          </>
        ) : (
          button("start", "Start")
        ))}
      {allowed("delete", "kubevirt.io", "virtualmachines") && (
        <button
          type="button"
          class="button button-row button-row-delete"
          aria-label={`Delete ${name}…`}
          disabled={deletionTimestamp !== undefined}
          onClick={() => setDeleting(true)}
        >
          Delete…
        </button>
      )}
      {isDeleting && <DeleteDialog vm={vm} onClose={() => setDeleting(false)} onDeleted={() => {}} />}
    </span>
  );
}
