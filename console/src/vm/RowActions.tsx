import { useState } from "preact/hooks";
import { useAccess } from "../api/access";
import type { VirtualMachine } from "../api/objects";
import { type Action, runAction } from "./actions";
import { isRunning } from "./status";

/** Start, or restart and stop, in a row of the list. */
export function RowActions({ vm }: { vm: VirtualMachine }) {
  const [busy, setBusy] = useState(false);
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
  if (!allowed("update", "subresources.kubevirt.io", "virtualmachines/start")) return null;
  return (
    <span class="row-actions">
      {isRunning(vm) ? (
        <>
          {button("restart", "Restart")}
          {button("stop", "Stop")}
        </>
      ) : (
        button("start", "Start")
      )}
    </span>
  );
}
