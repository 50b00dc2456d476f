/**
 * Manifests for Git: VMs without the fields that servers and other tools write.
 *
 * The fields are those of src/virtshape/engine/gitops.py; tests/web compares the results.
 */
import type { VirtualMachine } from "../api/objects";

type Tree = Record<string, unknown>;

const METADATA = ["name", "generateName", "namespace", "labels", "annotations", "finalizers"];
const ANNOTATIONS = [
  "kubectl.kubernetes.io/last-applied-configuration",
  "kubevirt.io/latest-observed-api-version",
  "kubevirt.io/storage-observed-api-version",
  "virtshape.io/recapture",
  "argocd.argoproj.io/installation-id",
  "argocd.argoproj.io/tracking-id",
];
const LABELS = ["helm", "kustomize"].flatMap((tool) =>
  ["name", "namespace"].map((part) => `${tool}.toolkit.fluxcd.io/${part}`),
);
const FINALIZER = "kubevirt.io/virtualMachineControllerFinalize";
const MATCHERS = ["instancetype", "preference", "flavor"];

/** Return a copy of a VM without status, revision names, and metadata that tools or the controllers write. */
export function removeServerFields(vm: VirtualMachine): Tree {
  const { status: _, metadata, spec, ...rest } = removeNull(vm) as Tree;
  return { ...rest, metadata: cleanMetadata(metadata as Tree), spec: cleanSpec(spec as Tree) };
}

function cleanMetadata(metadata: Tree): Tree {
  const cleaned = {
    ...metadata,
    labels: omit(metadata.labels, LABELS),
    annotations: omit(metadata.annotations, ANNOTATIONS),
    finalizers: ((metadata.finalizers ?? []) as string[]).filter((finalizer) => finalizer !== FINALIZER),
  };
  const kept = Object.entries(cleaned).filter(([name, value]) => METADATA.includes(name) && !isEmpty(value));
  return Object.fromEntries(kept);
}

function cleanSpec(spec: Tree): Tree {
  const cleaned = Object.entries(spec).map(([name, value]) => {
    if (MATCHERS.includes(name)) return [name, omit(value, ["revisionName"])];
    if (name === "template" && isEmpty((value as Tree).metadata)) return [name, omit(value, ["metadata"])];
    return [name, value];
  });
  return Object.fromEntries(cleaned);
}

function omit(tree: unknown, names: readonly string[]): Tree {
  return Object.fromEntries(Object.entries(tree ?? {}).filter(([name]) => !names.includes(name)));
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

function removeNull(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(removeNull);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, item]) => item !== null && item !== undefined);
  return Object.fromEntries(kept.map(([name, item]) => [name, removeNull(item)]));
}
