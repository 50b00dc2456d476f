/** The state of the create page, the VM that it describes, and the field that each problem belongs to. */
import type { Cause } from "../api/client";
import type { Instancetype, Matcher, VirtualMachine, Volume } from "../api/objects";

export type ImageKind = "containerDisk" | "claim" | "dataSource" | "dataVolume" | "upload";

/** An instance type or preference: chosen, inferred from the image, or none. */
export type Choice = { is: "none" } | { is: "inferred" } | { is: "chosen"; kind: string; name: string };

export interface Form {
  name: string;
  imageKind: ImageKind;
  /** Image, claim, DataVolume, or namespace/name of a DataSource, for each kind of image. */
  images: Record<ImageKind, string>;
  /** Size of the disk that is cloned from a DataSource; empty means the size of the source. */
  diskSize: string;
  instancetype: Choice;
  preference: Choice;
  /** Size for instance types that leave it open, and for VMs without an instance type. */
  vcpus: number;
  memory: string;
  user: string;
  sshKey: string;
  starts: boolean;
}

export const ROOT = "rootdisk";
export const DEFAULT_IMAGE = "quay.io/containerdisks/fedora:41";

export function newForm(query: URLSearchParams): Form {
  return {
    name: "",
    imageKind: "containerDisk",
    images: { containerDisk: DEFAULT_IMAGE, claim: "", dataSource: "", dataVolume: "", upload: "" },
    diskSize: "",
    instancetype: readChoice(query.get("instancetype"), "VirtualMachineClusterInstancetype"),
    preference: readChoice(query.get("preference"), "VirtualMachineClusterPreference"),
    vcpus: 1,
    memory: "2Gi",
    user: "",
    sshKey: "",
    starts: true,
  };
}

/** Read NAME or KIND/NAME, as other pages link to the create page. */
function readChoice(text: string | null, clusterKind: string): Choice {
  if (!text) return { is: "none" };
  const [kind, name] = text.includes("/") ? text.split("/", 2) : [clusterKind, text];
  return { is: "chosen", kind: kind ?? "", name: name ?? "" };
}

/** Return the image that is chosen, or an empty text. */
export function imageOf(form: Form): string {
  return form.images[form.imageKind];
}

/** Return true if instance type and preference can be inferred from this kind of image; an upload names no defaults. */
export function canInfer(kind: ImageKind): boolean {
  return kind !== "containerDisk" && kind !== "upload";
}

/** Return the size that the instance type leaves to the VM. */
export function openSizes(instancetype: Instancetype | undefined, choice: Choice): { cpu: boolean; memory: boolean } {
  if (choice.is === "none") return { cpu: true, memory: true };
  if (!instancetype) return { cpu: false, memory: false };
  const { cpu, memory } = instancetype.spec;
  return { cpu: !cpu?.guest && !cpu?.topology, memory: !memory?.guest };
}

/** Return the VM that the form describes. */
export function buildVm(form: Form, namespace: string, open: { cpu: boolean; memory: boolean }): VirtualMachine {
  const volumes: Volume[] = [buildRootVolume(form)];
  const userData = buildUserData(form);
  if (userData) volumes.push({ name: "cloudinit", cloudInitNoCloud: { userData } });
  const instancetype = buildMatcher(form.instancetype);
  const preference = buildMatcher(form.preference);
  const templates = form.imageKind === "dataSource" ? [buildTemplate(form)] : [];
  return {
    apiVersion: "kubevirt.io/v1",
    kind: "VirtualMachine",
    metadata: { name: form.name, namespace },
    spec: {
      runStrategy: form.starts ? "Always" : "Halted",
      ...(instancetype && { instancetype }),
      ...(preference && { preference }),
      ...(templates.length && { dataVolumeTemplates: templates }),
      template: {
        spec: {
          domain: {
            ...(open.cpu && { cpu: { guest: form.vcpus } }),
            ...(open.memory && { memory: { guest: form.memory } }),
            devices: {},
          },
          volumes,
        },
      },
    },
  };
}

function buildRootVolume(form: Form): Volume {
  const image = imageOf(form).trim();
  switch (form.imageKind) {
    case "containerDisk":
      return { name: ROOT, containerDisk: { image } };
    case "claim":
      return { name: ROOT, persistentVolumeClaim: { claimName: image } };
    case "dataSource":
      return { name: ROOT, dataVolume: { name: diskName(form) } };
    default:
      return { name: ROOT, dataVolume: { name: image } };
  }
}

/** Return the name of the disk that is cloned from a DataSource. */
export function diskName(form: Form): string {
  return `${form.name || "vm"}-${ROOT}`;
}

function buildTemplate(form: Form): object {
  const [namespace, name] = imageOf(form).split("/", 2);
  const storage = form.diskSize ? { resources: { requests: { storage: form.diskSize } } } : {};
  return {
    metadata: { name: diskName(form) },
    spec: { sourceRef: { kind: "DataSource", namespace, name }, storage },
  };
}

function buildMatcher(choice: Choice): Matcher | null {
  if (choice.is === "none") return null;
  if (choice.is === "inferred") return { inferFromVolume: ROOT };
  return { kind: choice.kind, name: choice.name };
}

function buildUserData({ user, sshKey }: Form): string {
  const lines: string[] = [];
  if (user.trim()) lines.push(`user: ${JSON.stringify(user.trim())}`);
  const keys = listKeys(sshKey);
  if (keys.length) lines.push("ssh_authorized_keys:", ...keys.map((key) => `- ${JSON.stringify(key)}`));
  return lines.length ? ["#cloud-config", ...lines, ""].join("\n") : "";
}

/** Return the SSH keys, one per line. */
export function listKeys(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}

export type FormField = "name" | "image" | "instancetype" | "preference" | "vcpus" | "memory" | "cloudInit" | "other";

const PLACES: [RegExp, FormField][] = [
  [/^metadata\.(name|generateName)\b/, "name"],
  [/^spec\.instancetype\b/, "instancetype"],
  [/^spec\.preference\b/, "preference"],
  [/^spec\.template\.spec\.volumes\[1\]/, "cloudInit"],
  [/^spec\.(dataVolumeTemplates|template\.spec\.volumes)\b/, "image"],
  [/^spec\.template\.spec\.domain\.cpu\b/, "vcpus"],
  [/^spec\.template\.spec\.domain\.memory\b/, "memory"],
];

/** Return the messages of each field of the form; sizes that are not open belong to the instance type. */
export function placeProblems(
  problems: readonly Cause[],
  open: { cpu: boolean; memory: boolean },
): Partial<Record<FormField, string[]>> {
  const placed: Partial<Record<FormField, string[]>> = {};
  for (const { field = "", message = "" } of problems) {
    let place = PLACES.find(([pattern]) => pattern.test(field))?.[1] ?? "other";
    if ((place === "vcpus" && !open.cpu) || (place === "memory" && !open.memory)) place = "instancetype";
    const messages = placed[place] ?? [];
    placed[place] = messages.includes(message) ? messages : [...messages, message];
  }
  return placed;
}
