/** How pages show the status of a VM. */
import type { Matcher, RevisionStatus, VirtualMachine } from "../api/objects";
import type { Tone } from "../components/Badge";

const TONES: Record<string, Tone> = {
  Running: "good",
  Starting: "busy",
  Stopping: "busy",
  Terminating: "busy",
  Provisioning: "busy",
  WaitingForVolumeBinding: "busy",
  Migrating: "busy",
  Paused: "warning",
  Stopped: "neutral",
};

export function statusOf(vm: VirtualMachine): string {
  return vm.metadata.deletionTimestamp ? "Terminating" : (vm.status?.printableStatus ?? "Pending");
}

/** Return the tone of a status; statuses that are not expected, such as ErrorUnschedulable, are bad. */
export function toneOf(status: string): Tone {
  return TONES[status] ?? (status === "Pending" ? "busy" : "bad");
}

export function isRunning(vm: VirtualMachine): boolean {
  return vm.status?.created === true;
}

/** Return vCPUs and memory with instance type and preference applied, or an empty text if they are not known yet. */
export function sizeOf(vm: VirtualMachine): string {
  const { vcpus, memory } = vm.status?.effective ?? {};
  return [vcpus ? `${vcpus} vCPU` : "", memory ?? ""].filter(Boolean).join(" · ");
}

export type Role = "instancetype" | "preference";

export const ROLES: readonly { role: Role; label: string }[] = [
  { role: "instancetype", label: "Instance type" },
  { role: "preference", label: "Preference" },
];

/** Return the kind that a matcher without a kind refers to. */
export function defaultKind(role: Role): string {
  return role === "instancetype" ? "VirtualMachineClusterInstancetype" : "VirtualMachineClusterPreference";
}

export function kindOf(role: Role, matcher: Matcher): string {
  const kind = matcher.kind ?? defaultKind(role);
  const known = [
    "VirtualMachineInstancetype",
    "VirtualMachineClusterInstancetype",
    "VirtualMachinePreference",
    "VirtualMachineClusterPreference",
  ];
  // Matchers may also contain the name of the resource, in upper or lower case.
  return known.find((one) => [one.toLowerCase(), `${one.toLowerCase()}s`].includes(kind.toLowerCase())) ?? kind;
}

/** Return the name of the ControllerRevision that the VM uses in this role. */
export function revisionOf(vm: VirtualMachine, role: Role): string | undefined {
  const status: RevisionStatus | undefined = vm.status?.[`${role}Ref`];
  return vm.spec[role]?.revisionName || status?.controllerRevisionRef?.name;
}
