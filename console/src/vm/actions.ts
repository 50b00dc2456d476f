/** Actions on a VM, with the message about their result. */
import { request } from "../api/client";
import type { VirtualMachine } from "../api/objects";
import { objectPath, subresourcePath, VMS } from "../api/resources";
import { toast } from "../components/Toasts";
import type { Role } from "./status";

export type Action = "start" | "stop" | "restart";

const DONE: Record<Action, string> = { start: "is starting", stop: "is stopping", restart: "is restarting" };

/** Start, stop or restart a VM; report the result. */
export async function runAction(vm: VirtualMachine, action: Action): Promise<void> {
  const { name, namespace = "" } = vm.metadata;
  try {
    await request("PUT", subresourcePath(namespace, "virtualmachines", name, action), { body: {} });
    toast.success(`${name} ${DONE[action]}`);
  } catch (error) {
    toast.error(`${name} cannot ${action}`, error);
  }
}

/** Delete a VM; report the result. */
export async function deleteVm(vm: VirtualMachine): Promise<boolean> {
  const { name, namespace } = vm.metadata;
  try {
    await request("DELETE", objectPath(VMS, name, namespace));
    toast.success(`${name} is being deleted`);
    return true;
  } catch (error) {
    toast.error(`${name} cannot be deleted`, error);
    return false;
  }
}

/** The annotation that requests new revisions, also of VMs whose revisions only the status names. */
const RECAPTURE = "virtshape.io/recapture";

/** Make the VM use the current instance type or preference; raise ApiError if they conflict with it. */
export async function upgradeVm(vm: VirtualMachine, roles: readonly Role[], dryRun: boolean): Promise<void> {
  const { name, namespace } = vm.metadata;
  const spec = Object.fromEntries(roles.map((role) => [role, { revisionName: null }]));
  await request("PATCH", objectPath(VMS, name, namespace), {
    body: { metadata: { annotations: { [RECAPTURE]: roles.join(",") } }, spec },
    contentType: "application/merge-patch+json",
    query: { dryRun: dryRun ? "All" : undefined },
  });
}

/** Return the expanded specs of the VM as it is, and with the current versions of its instance type and preference. */
export async function compareVersions(vm: VirtualMachine, roles: readonly Role[]): Promise<[unknown, unknown]> {
  const { name, namespace = "" } = vm.metadata;
  const renewed = structuredClone(vm);
  delete renewed.status;
  for (const role of roles) delete renewed.spec[role]?.revisionName;
  const [before, after] = await Promise.all([
    request<VirtualMachine>("GET", subresourcePath(namespace, "virtualmachines", name, "expand-spec")),
    request<VirtualMachine>("PUT", subresourcePath(namespace, "expand-vm-spec"), { body: renewed }),
  ]);
  return [before.spec.template.spec, after.spec.template.spec];
}
