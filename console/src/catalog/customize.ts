/** Derive a new instance type or preference from an existing one, as `virtctl customize` does. */
import type { Instancetype, InstancetypeSpec, Preference, PreferenceSpec, Topology } from "../api/objects";
import { parseQuantity } from "../format";
import type { Shape } from "./shapes";

const GROUP = "instancetype.kubevirt.io";
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** Values of the form; empty texts keep the value of the source. */
export interface CustomSize {
  vcpus: string;
  sockets: string;
  cores: string;
  threads: string;
  memory: string;
}

/** Return a copy with another name, without what the server or the author set to describe the source. */
function copyShape<T extends Shape>(source: T, kind: string, name: string, namespace: string | undefined): T {
  const labels = keepOwn(source.metadata.labels);
  const annotations = keepOwn(source.metadata.annotations);
  return {
    apiVersion: `${GROUP}/v1beta2`,
    kind,
    metadata: { name, ...(namespace && { namespace }), ...(labels && { labels }), ...(annotations && { annotations }) },
    spec: structuredClone(source.spec),
  } as T;
}

function keepOwn(texts: Record<string, string> = {}): Record<string, string> | null {
  const kept = Object.entries(texts).filter(([key]) => key !== LAST_APPLIED && !key.startsWith(`${GROUP}/`));
  return kept.length ? Object.fromEntries(kept) : null;
}

export function customizeInstancetype(
  source: Instancetype,
  kind: string,
  name: string,
  namespace: string | undefined,
  size: CustomSize,
): Instancetype {
  const copy = copyShape(source, kind, name, namespace);
  applyVcpus(copy.spec, size);
  applyMemory(copy.spec, size.memory.trim());
  return copy;
}

function applyVcpus(spec: InstancetypeSpec, { vcpus, sockets, cores, threads }: CustomSize): void {
  const topology = readTopology(sockets, cores, threads);
  if (!vcpus && !topology) return;
  spec.cpu ??= {};
  const { cpu } = spec;
  const wanted = topology ? (topology.sockets ?? 1) : Number(vcpus);
  const before = cpu.guest || (cpu.topology?.sockets ?? 1);
  // A limit for hotplug that equals the old size equals the new one; others are at least that.
  if (cpu.maxSockets) cpu.maxSockets = cpu.maxSockets === before ? wanted : Math.max(cpu.maxSockets, wanted);
  if (topology) {
    delete cpu.guest;
    cpu.topology = topology;
  } else {
    delete cpu.topology;
    cpu.guest = Number(vcpus);
  }
}

function readTopology(sockets: string, cores: string, threads: string): Topology | null {
  if (!sockets && !cores && !threads) return null;
  return { sockets: Number(sockets || 1), cores: Number(cores || 1), threads: Number(threads || 1) };
}

function applyMemory(spec: InstancetypeSpec, wanted: string): void {
  if (!wanted) return;
  spec.memory ??= {};
  const { memory } = spec;
  const limit = parseQuantity(memory.maxGuest);
  if (limit < parseQuantity(wanted) || limit === parseQuantity(memory.guest)) memory.maxGuest = wanted;
  memory.guest = wanted;
}

/** Values of the form; empty texts remove a requirement. */
export interface CustomPreference {
  topology: string;
  vcpus: string;
  memory: string;
}

export function readPreference({ cpu, requirements }: PreferenceSpec): CustomPreference {
  return {
    topology: cpu?.preferredCPUTopology ?? "",
    vcpus: `${requirements?.cpu?.guest ?? ""}`,
    memory: requirements?.memory?.guest ?? "",
  };
}

export function customizePreference(
  source: Preference,
  kind: string,
  name: string,
  namespace: string | undefined,
  { topology, vcpus, memory }: CustomPreference,
): Preference {
  const copy = copyShape(source, kind, name, namespace);
  const { cpu, requirements, ...rest } = copy.spec;
  const { preferredCPUTopology: _, ...otherCpu } = cpu ?? {};
  const { cpu: _cpu, memory: _memory, ...otherNeeds } = requirements ?? {};
  const newCpu = { ...otherCpu, ...(topology && { preferredCPUTopology: topology }) };
  const needs = {
    ...otherNeeds,
    ...(vcpus && { cpu: { guest: Number(vcpus) } }),
    ...(memory.trim() && { memory: { guest: memory.trim() } }),
  };
  copy.spec = {
    ...rest,
    ...(Object.keys(newCpu).length > 0 && { cpu: newCpu }),
    ...(Object.keys(needs).length > 0 && { requirements: needs }),
  };
  return copy;
}
