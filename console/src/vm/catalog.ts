/** Instance types and preferences that VMs refer to, and whether a VM uses the current version of them. */
import { useEffect } from "preact/hooks";
import { request } from "../api/client";
import type { KubernetesObject, List, ObjectMeta, VirtualMachine } from "../api/objects";
import {
  CLUSTER_INSTANCETYPES,
  CLUSTER_PREFERENCES,
  collectionPath,
  INSTANCETYPES,
  PREFERENCES,
} from "../api/resources";
import { useLoad } from "../hooks";
import { kindOf, ROLES, type Role, revisionOf } from "./status";

/** Metadata of instance types and preferences, by kind, namespace and name. */
export type Catalog = ReadonlyMap<string, KubernetesObject>;

export type Drift = "current" | "changed" | "gone" | "unknown";

const METADATA = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const REFRESH = 20_000;

/** Load the metadata of all instance types and preferences, again every 20 seconds while the page is visible. */
export function useCatalog(namespace: string): Catalog | null {
  const { value, reload } = useLoad(`catalog/${namespace}`, (signal) => loadCatalog(namespace, signal));
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), REFRESH);
    return () => clearInterval(timer);
  }, [reload]);
  return value;
}

async function loadCatalog(namespace: string, signal: AbortSignal): Promise<Catalog> {
  const resources = [CLUSTER_INSTANCETYPES, CLUSTER_PREFERENCES, INSTANCETYPES, PREFERENCES];
  const lists = await Promise.all(
    resources.map(async (resource) => {
      const path = collectionPath(resource, namespace);
      const { items } = await request<List<KubernetesObject>>("GET", path, { signal, accept: METADATA });
      return items.map((item): [string, KubernetesObject] => [
        keyOf(resource.kind, item.metadata.namespace ?? "", item.metadata.name),
        item,
      ]);
    }),
  );
  return new Map(lists.flat());
}

function keyOf(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}

/** Compare the revision that a VM uses with the live object. */
export function findDrift(vm: VirtualMachine, role: Role, catalog: Catalog | null): Drift {
  const matcher = vm.spec[role];
  const revision = revisionOf(vm, role);
  if (!catalog || !matcher?.name || !revision) return "unknown";
  const kind = kindOf(role, matcher);
  const namespace = kind.includes("Cluster") ? "" : (vm.metadata.namespace ?? "");
  const live = catalog.get(keyOf(kind, namespace, matcher.name));
  if (!live) return "gone";
  return compareRevision(revision, live.metadata);
}

/**
 * Compare a revision with the live object by the revision's name, which ends with UID and generation.
 *
 * The names of shared revisions may have the number of the copy after the generation. If the UID is not that of the live
 * object, the versions cannot be compared: VMs that were imported keep the names of revisions of the other cluster.
 */
export function compareRevision(revision: string, live: ObjectMeta): "current" | "changed" | "unknown" {
  const [, version] = revision.split(`-${live.uid}-`);
  const [, generation] = version?.match(/^([0-9]+)(-[0-9]+)?$/) ?? [];
  if (generation === undefined) return "unknown";
  return Number(generation) === (live.generation ?? 0) ? "current" : "changed";
}

/** Return the roles in which a newer object is available. */
export function listOutdated(vm: VirtualMachine, catalog: Catalog | null): Role[] {
  return ROLES.map(({ role }) => role).filter((role) => findDrift(vm, role, catalog) === "changed");
}
