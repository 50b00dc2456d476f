import { useState } from "preact/hooks";
import { useAccess } from "../api/access";
import type { VirtualMachine } from "../api/objects";
import { Badge } from "../components/Badge";
import { type Catalog, listOutdated } from "./catalog";
import { UpgradeDialog } from "./UpgradeDialog";

/** Says that a newer instance type or preference is available; a click shows the changes and offers the upgrade. */
export function NewerBadge({ vm, catalog }: { vm: VirtualMachine; catalog: Catalog | null }) {
  const [isOpen, setOpen] = useState(false);
  const allowed = useAccess(vm.metadata.namespace ?? "");
  const outdated = listOutdated(vm, catalog);
  if (outdated.length === 0 && !isOpen) return null;
  const newer = outdated.map((role) => (role === "instancetype" ? "instance type" : "preference")).join(" and ");
  const badge = <Badge tone="info">newer</Badge>;
  const title = `A newer ${newer} is available`;
  if (!allowed("patch", "kubevirt.io", "virtualmachines")) return <span title={title}>{badge}</span>;
  return (
    <>
      <button
        type="button"
        class="badge-button"
        title={`${title}: compare and upgrade`}
        aria-label={`Newer ${newer} for ${vm.metadata.name}: compare and upgrade`}
        onClick={() => setOpen(true)}
      >
        {badge}
      </button>
      {isOpen && <UpgradeDialog vm={vm} roles={outdated} onClose={() => setOpen(false)} />}
    </>
  );
}
