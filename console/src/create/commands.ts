/** The VM of the form as commands for a terminal. */
import type { VirtualMachine } from "../api/objects";
import { formatYaml } from "../yaml";
import { type Choice, diskName, type Form, imageOf, listKeys, ROOT } from "./form";

/** Return a kubectl command that creates the VM. */
export function kubectlCommand(vm: VirtualMachine): string {
  return `kubectl apply -f - <<'EOF'\n${formatYaml(vm)}EOF\n`;
}

/** Return a virtctl command that creates the same VM. */
export function virtctlCommand(form: Form, namespace: string, open: { cpu: boolean; memory: boolean }): string {
  const flags = [
    ["--name", form.name],
    ["--namespace", namespace],
    ["--run-strategy", form.starts ? "Always" : "Halted"],
    ...choiceFlags("instancetype", form.instancetype, volumeName(form)),
    ...choiceFlags("preference", form.preference, volumeName(form)),
    ...(open.cpu ? [["--vcpus", `${form.vcpus}`]] : []),
    ...(open.memory ? [["--memory", form.memory]] : []),
    volumeFlag(form),
    ...(form.user.trim() ? [["--user", form.user.trim()]] : []),
    ...listKeys(form.sshKey).map((key) => ["--ssh-key", key]),
  ];
  const words = flags.map(([flag, value]) => (value === undefined ? flag : `${flag} ${quote(value)}`));
  return `virtctl create vm ${words.join(" \\\n  ")} \\\n  | kubectl apply -n ${quote(namespace)} -f -\n`;
}

function choiceFlags(role: "instancetype" | "preference", choice: Choice, volume: string): string[][] {
  if (choice.is === "none") return [[`--infer-${role}=false`]]; // virtctl infers both if it can
  if (choice.is === "inferred") return [[`--infer-${role}-from`, volume]];
  const isCluster = choice.kind.includes("Cluster");
  return [[`--${role}`, isCluster ? choice.name : `${choice.kind.toLowerCase()}/${choice.name}`]];
}

/** virtctl gives the disk cloned from a DataSource the name of its volume, so the name must be unique to the VM. */
function volumeName(form: Form): string {
  return form.imageKind === "dataSource" ? diskName(form) : ROOT;
}

function volumeFlag(form: Form): string[] {
  const image = imageOf(form);
  if (form.imageKind === "containerDisk") return ["--volume-containerdisk", `src:${image},name:${ROOT}`];
  if (form.imageKind === "dataSource") {
    const size = form.diskSize ? `,size:${form.diskSize}` : "";
    return ["--volume-import", `type:ds,src:${image},name:${volumeName(form)}${size}`];
  }
  return ["--volume-pvc", `src:${image},name:${ROOT}`];
}

function quote(word: string): string {
  return /^[A-Za-z0-9_.,:/=@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
