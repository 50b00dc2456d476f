/** The parts of Kubernetes objects that the console reads. Unknown fields are kept as they are. */

export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

export interface Condition {
  type: string;
  status: "True" | "False" | "Unknown";
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface Matcher {
  name?: string;
  kind?: string;
  revisionName?: string;
  inferFromVolume?: string;
  inferFromVolumeFailurePolicy?: string;
}

export interface RevisionStatus {
  name?: string;
  kind?: string;
  controllerRevisionRef?: { name?: string };
}

/** Sockets, cores and threads; absent numbers count as one. */
export interface Topology {
  sockets?: number;
  cores?: number;
  threads?: number;
}

export interface VirtualMachine extends KubernetesObject {
  spec: {
    runStrategy?: string;
    running?: boolean;
    instancetype?: Matcher;
    preference?: Matcher;
    dataVolumeTemplates?: unknown[];
    template: { metadata?: Partial<ObjectMeta>; spec: VirtualMachineInstanceSpec };
  };
  status?: {
    printableStatus?: string;
    ready?: boolean;
    created?: boolean;
    conditions?: Condition[];
    instancetypeRef?: RevisionStatus;
    preferenceRef?: RevisionStatus;
    effective?: EffectiveSize;
  };
}

/** The size of a VM with its instance type and preference applied. */
export interface EffectiveSize {
  vcpus?: number;
  memory?: string;
  /** Sockets x cores x threads, such as 2x1x2. */
  topology?: string;
}

export interface Volume {
  name: string;
  persistentVolumeClaim?: { claimName: string };
  dataVolume?: { name: string };
  containerDisk?: { image: string };
  cloudInitNoCloud?: { userData?: string };
  [source: string]: unknown;
}

export interface VirtualMachineInstanceSpec {
  domain: {
    cpu?: Topology & { guest?: number };
    memory?: { guest?: string };
    devices?: Record<string, unknown>;
    [field: string]: unknown;
  };
  volumes?: Volume[];
  [field: string]: unknown;
}

export interface VirtualMachineInstance extends KubernetesObject {
  spec: VirtualMachineInstanceSpec;
  status?: {
    phase?: string;
    nodeName?: string;
    interfaces?: { name?: string; ipAddress?: string; mac?: string }[];
    conditions?: Condition[];
    guestOSInfo?: { prettyName?: string; name?: string };
  };
}

export interface InstancetypeSpec {
  cpu?: {
    guest?: number;
    topology?: Topology;
    limits?: { min?: number; max?: number; step?: number };
    model?: string;
    dedicatedCPUPlacement?: boolean;
    isolateEmulatorThread?: boolean;
    numa?: object;
    realtime?: object;
    maxSockets?: number;
  };
  memory?: {
    guest?: string;
    limits?: { min?: string; max?: string; step?: string; perVCPU?: { min?: string; max?: string } };
    hugepages?: { pageSize?: string };
    overcommitPercent?: number;
    maxGuest?: string;
  };
  gpus?: { name: string; deviceName: string }[];
  hostDevices?: { name: string; deviceName: string }[];
  [field: string]: unknown;
}

/** A VirtualMachineInstancetype or VirtualMachineClusterInstancetype. */
export interface Instancetype extends KubernetesObject {
  spec: InstancetypeSpec;
}

export interface PreferenceSpec {
  cpu?: { preferredCPUTopology?: string; [field: string]: unknown };
  requirements?: { cpu?: { guest?: number }; memory?: { guest?: string }; architecture?: string };
  preferredArchitecture?: string;
  [field: string]: unknown;
}

/** A VirtualMachinePreference or VirtualMachineClusterPreference. */
export interface Preference extends KubernetesObject {
  spec: PreferenceSpec;
}

export interface ControllerRevision extends KubernetesObject {
  data?: KubernetesObject & { spec?: Record<string, unknown> };
  revision: number;
}

export interface PersistentVolumeClaim extends KubernetesObject {
  spec: { resources?: { requests?: { storage?: string } }; storageClassName?: string };
  status?: { phase?: string; capacity?: { storage?: string } };
}

export interface DataVolume extends KubernetesObject {
  spec: Record<string, unknown>;
  status?: { phase?: string; progress?: string };
}

export interface DataSource extends KubernetesObject {
  spec: { source?: { pvc?: { name: string; namespace: string } } };
  status?: { conditions?: Condition[] };
}

export interface CoreEvent extends KubernetesObject {
  type?: string;
  reason?: string;
  message?: string;
  count?: number;
  firstTimestamp?: string;
  lastTimestamp?: string;
  eventTime?: string;
  involvedObject: { kind?: string; name?: string; namespace?: string; uid?: string };
}

export type Namespace = KubernetesObject;

export interface Node extends KubernetesObject {
  status?: { capacity?: { cpu?: string; memory?: string } };
}

export interface List<T> {
  metadata: { resourceVersion?: string; continue?: string };
  items: T[];
}
