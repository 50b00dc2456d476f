/** Where each kind is in the API. */
import type {
  ControllerRevision,
  CoreEvent,
  DataSource,
  DataVolume,
  Instancetype,
  KubernetesObject,
  Namespace,
  Node,
  PersistentVolumeClaim,
  Preference,
  VirtualMachine,
  VirtualMachineInstance,
} from "./objects";

export interface Resource<T extends KubernetesObject> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Only for inference of T; never set. */
  readonly type?: T;
}

function resource<T extends KubernetesObject>(
  apiVersion: string,
  kind: string,
  plural: string,
  namespaced = true,
): Resource<T> {
  return { apiVersion, kind, plural, namespaced };
}

const INSTANCETYPE = "instancetype.kubevirt.io/v1beta2";

export const VMS = resource<VirtualMachine>("kubevirt.io/v1", "VirtualMachine", "virtualmachines");
export const VMIS = resource<VirtualMachineInstance>(
  "kubevirt.io/v1",
  "VirtualMachineInstance",
  "virtualmachineinstances",
);
export const INSTANCETYPES = resource<Instancetype>(
  INSTANCETYPE,
  "VirtualMachineInstancetype",
  "virtualmachineinstancetypes",
);
export const CLUSTER_INSTANCETYPES = resource<Instancetype>(
  INSTANCETYPE,
  "VirtualMachineClusterInstancetype",
  "virtualmachineclusterinstancetypes",
  false,
);
export const PREFERENCES = resource<Preference>(INSTANCETYPE, "VirtualMachinePreference", "virtualmachinepreferences");
export const CLUSTER_PREFERENCES = resource<Preference>(
  INSTANCETYPE,
  "VirtualMachineClusterPreference",
  "virtualmachineclusterpreferences",
  false,
);
export const CONTROLLER_REVISIONS = resource<ControllerRevision>(
  "apps/v1",
  "ControllerRevision",
  "controllerrevisions",
);
export const CLAIMS = resource<PersistentVolumeClaim>("v1", "PersistentVolumeClaim", "persistentvolumeclaims");
export const DATA_VOLUMES = resource<DataVolume>("cdi.kubevirt.io/v1beta1", "DataVolume", "datavolumes");
export const DATA_SOURCES = resource<DataSource>("cdi.kubevirt.io/v1beta1", "DataSource", "datasources");
export const EVENTS = resource<CoreEvent>("v1", "Event", "events");
export const NODES = resource<Node>("v1", "Node", "nodes", false);
export const NAMESPACES = resource<Namespace>("v1", "Namespace", "namespaces", false);

/** Return the path of a collection; without a namespace, of all namespaces. */
export function collectionPath(of: Resource<KubernetesObject>, namespace?: string): string {
  const root = of.apiVersion.includes("/") ? `/apis/${of.apiVersion}` : `/api/${of.apiVersion}`;
  const scope = of.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${root}${scope}/${of.plural}`;
}

/** Return the path of an object. */
export function objectPath(of: Resource<KubernetesObject>, name: string, namespace?: string): string {
  return `${collectionPath(of, namespace)}/${encodeURIComponent(name)}`;
}

/** Return the path of an action or stream of subresources.kubevirt.io. */
export function subresourcePath(namespace: string, ...parts: string[]): string {
  const tail = parts.map(encodeURIComponent).join("/");
  return `/apis/subresources.kubevirt.io/v1/namespaces/${encodeURIComponent(namespace)}/${tail}`;
}
