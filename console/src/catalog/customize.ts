/** Derive a new object from an existing one, and the size of a new instance type, as `virtctl customize` does. */
import { type Cause, request } from "../api/client";
import type { Instancetype } from "../api/objects";
import { subresourcePath } from "../api/resources";
import { LABEL, REPLACEMENT } from "./Lifecycle";
import { resourceOf, type Shape } from "./shapes";

const GROUP = "instancetype.kubevirt.io";
const LEFT_OUT = ["kubectl.kubernetes.io/last-applied-configuration", LABEL, REPLACEMENT];

/** A size that each VM sets. */
export const OPEN = "open";

/** Values of the form; an empty string keeps the value of the source, and OPEN removes it. */
export interface CustomSize {
  vcpus: string;
  sockets: string;
  cores: string;
  threads: string;
  memory: string;
}

/** Return a copy with another name, without what the server or the author set to describe the source. */
export function copyShape<T extends Shape>(source: T, kind: string, name: string, namespace: string | undefined): T {
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
  const kept = Object.entries(texts).filter(([key]) => !LEFT_OUT.includes(key) && !key.startsWith(`${GROUP}/`));
  return kept.length ? Object.fromEntries(kept) : null;
}

/** The new object, and why it cannot be created. */
export interface Customized<T extends Shape> {
  result: T | null;
  problems: readonly Cause[];
}

/** Return a copy of an instance type with another size, as the server derives it. */
export async function customizeInstancetype(
  { metadata }: Instancetype,
  target: { name: string; namespace: string },
  size: CustomSize,
  namespace: string,
  signal: AbortSignal,
): Promise<Customized<Instancetype>> {
  const body = {
    source: { name: metadata.name, kind: resourceOf("instancetype", metadata).kind },
    name: target.name,
    cluster: !target.namespace,
    ...writeSize(size),
  };
  const path = subresourcePath(target.namespace || metadata.namespace || namespace, "customize-instancetype");
  type Answer = { instancetype?: Instancetype; problems: Cause[] };
  const { instancetype = null, problems } = await request<Answer>("PUT", path, { body, signal });
  return { result: instancetype, problems };
}

function writeSize({ vcpus, memory, sockets, cores, threads }: CustomSize): object {
  const topology = { sockets: Number(sockets || 1), cores: Number(cores || 1), threads: Number(threads || 1) };
  const open = [vcpus === OPEN && "vcpus", memory === OPEN && "memory"].filter(Boolean);
  return {
    ...(vcpus && vcpus !== OPEN && { vcpus: Number(vcpus) }),
    ...((sockets || cores || threads) && { topology }),
    ...(memory && memory !== OPEN && { memory }),
    ...(open.length && { open }),
  };
}
