/** What instance types and preferences have in common: kinds, references in addresses, titles and scope. */
import { request } from "../api/client";
import type { Instancetype, KubernetesObject, ObjectMeta, Preference } from "../api/objects";
import {
  CLUSTER_INSTANCETYPES,
  CLUSTER_PREFERENCES,
  INSTANCETYPES,
  objectPath,
  PREFERENCES,
  type Resource,
} from "../api/resources";
import { pathTo } from "../router";
import type { Role } from "../vm/status";

export type Shape = Instancetype | Preference;

interface ShapeNames {
  cluster: Resource<Shape>;
  namespaced: Resource<Shape>;
  /** First part of the address of its pages. */
  path: string;
  label: string;
  labels: string;
}

export const SHAPES: Record<Role, ShapeNames> = {
  instancetype: {
    cluster: CLUSTER_INSTANCETYPES as Resource<Shape>,
    namespaced: INSTANCETYPES as Resource<Shape>,
    path: "instancetypes",
    label: "instance type",
    labels: "instance types",
  },
  preference: {
    cluster: CLUSTER_PREFERENCES as Resource<Shape>,
    namespaced: PREFERENCES as Resource<Shape>,
    path: "preferences",
    label: "preference",
    labels: "preferences",
  },
};

/** The most objects that can be compared side by side. */
export const COMPARED = 4;

type Named = Pick<ObjectMeta, "name" | "namespace">;

/** Return NAME of a cluster-wide object or NAMESPACE/NAME, as in the addresses of pages. */
export function refOf({ name, namespace }: Named): string {
  return namespace ? `${namespace}/${name}` : name;
}

export function parseRef(ref: string): Named {
  const [first = "", second] = ref.split("/");
  return second === undefined ? { name: first } : { namespace: first, name: second };
}

/** Return the path of an object's page. */
export function shapePath(role: Role, { name, namespace }: Named): string {
  const { path } = SHAPES[role];
  return namespace ? pathTo(path, namespace, name) : pathTo(path, name);
}

export function comparePath(role: Role, refs: readonly string[]): string {
  return `/compare/${SHAPES[role].path}?${new URLSearchParams({ names: refs.join(",") })}`;
}

/** Return the path of the page that creates a VM with this object. */
export function createPath(role: Role, metadata: Named): string {
  const { name, namespace } = metadata;
  const reference = namespace ? `${SHAPES[role].namespaced.kind}/${name}` : name;
  return `/create?${new URLSearchParams({ [role]: reference })}`;
}

export function resourceOf(role: Role, { namespace }: Named): Resource<Shape> {
  return namespace ? SHAPES[role].namespaced : SHAPES[role].cluster;
}

/** Load an instance type or preference. */
export function loadShape<T extends Shape>(role: Role, named: Named, signal?: AbortSignal): Promise<T> {
  const path = objectPath(resourceOf(role, named), named.name, named.namespace);
  return request<T>("GET", path, signal ? { signal } : {});
}

/** Return the title that the author of an object has given it, or an empty text. */
export function titleOf({ metadata }: KubernetesObject): string {
  const { annotations = {} } = metadata;
  return annotations["instancetype.kubevirt.io/displayName"] ?? annotations["openshift.io/display-name"] ?? "";
}

export function descriptionOf({ metadata }: KubernetesObject): string {
  const { annotations = {} } = metadata;
  return annotations["instancetype.kubevirt.io/description"] ?? annotations.description ?? "";
}

export type Scope = "" | "cluster" | "namespace";

/** Return true if every word of the search is in the text. */
export function matchesSearch(text: string, search: string): boolean {
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

export function matchesScope({ metadata }: KubernetesObject, scope: string): boolean {
  return !scope || (scope === "namespace") === Boolean(metadata.namespace);
}
