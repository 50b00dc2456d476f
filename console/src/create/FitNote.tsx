import type { VirtualMachine } from "../api/objects";
import { checkFit } from "../api/previews";
import { describeLimits, describeTotal } from "../catalog/CapacityCard";
import { useLoad } from "../hooks";

/** Whether the nodes can take the VM of the form; nothing while the VM cannot be counted. */
export function FitNote({ vm, namespace }: { vm: VirtualMachine; namespace: string }) {
  const { instancetype, preference, template } = vm.spec;
  const key = JSON.stringify([namespace, instancetype, preference, template.spec.domain]);
  const { value, error } = useLoad(key, (signal) => checkFit(namespace, { virtualMachine: vm }, signal));
  if (!value || error) return null;
  return (
    <p class={value.fits ? "notice" : "notice notice-warning"} role="status">
      {describeTotal(value)}. {describeLimits(value)}
    </p>
  );
}
