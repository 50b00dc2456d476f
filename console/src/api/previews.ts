/** Previews of the server: capacity of the nodes, recommended instance types, and the effect of another instance type on a VM. */
import { request } from "./client";
import type { VirtualMachine } from "./objects";
import { subresourcePath } from "./resources";

export interface Named {
  name: string;
  kind?: string;
}

export interface Capacity {
  vcpus: number;
  memory: string;
  fits: number;
  /** What prevents the next VM, and on how many nodes. */
  limits: { limit: string; nodes: number }[];
  /** Absent without permission to list nodes. */
  nodes?: { node: string; fits: number; blockedBy: string[] }[];
}

/** Return how many VMs of an instance type, or VMs like the given one, fit on the nodes. */
export async function checkFit(
  namespace: string,
  wanted: { instancetypes: Named[] } | { virtualMachine: VirtualMachine },
  signal: AbortSignal,
): Promise<Capacity | null> {
  const path = subresourcePath(namespace, "check-fit");
  const { items } = await request<{ items: Capacity[] }>("PUT", path, { body: wanted, signal });
  return items[0] ?? null;
}

export interface Need {
  cpuMin?: number;
  memoryMin?: string;
  gpus?: number;
  dedicated?: boolean;
  preference?: Named;
  /** A cloud's instance type, such as aws:m5.large, whose size is needed. */
  like?: string;
  /** In percent. */
  maxWaste?: number;
  /** Include instance types that leave sizes to the VM. */
  custom?: boolean;
}

/** Shares in percent that are more than needed; null if nothing is needed. */
export interface Waste {
  cpu: number | null;
  memory: number | null;
}

export interface Recommended {
  kind: string;
  name: string;
  vcpus: number;
  memory: string;
  custom: boolean;
  waste: Waste;
  reason: string;
}

export interface Recommendation {
  items: Recommended[];
  /** The closest instance types with the reasons, if none meets the need. */
  closest: { kind: string; name: string; reasons: string[] }[];
}

/** Return the instance types that meet a need, those with the least waste first. */
export function recommend(namespace: string, need: Need, signal: AbortSignal): Promise<Recommendation> {
  return request("PUT", subresourcePath(namespace, "recommend-instancetypes"), { body: need, signal });
}

export function formatWaste({ cpu, memory }: Waste): string {
  const shares = [cpu !== null && `${roundUp(cpu)}% CPU`, memory !== null && `${roundUp(memory)}% memory`];
  return shares.filter(Boolean).join(", ");
}

/** Round a percentage; a share above 0 is at least 1%. */
function roundUp(percent: number): number {
  return percent > 0 ? Math.max(1, Math.round(percent)) : 0;
}

export interface FieldChange {
  field: string;
  then: unknown;
  now: unknown;
}

export interface Move {
  applies: "at start" | "immediately" | "at restart";
  restartReason: string;
  /** Null if the stored revision of the VM was deleted, or if the VM cannot move. */
  changes: FieldChange[] | null;
  problems: string[];
  warnings: string[];
  /** The merge patch that makes the change. */
  patch: object;
}

/** Return what changes if a VM uses another instance type or preference. */
export function previewMove(
  namespace: string,
  virtualMachine: string,
  to: { instancetype: Named } | { preference: Named },
  signal: AbortSignal,
): Promise<Move> {
  const body = { virtualMachine, ...to };
  return request("PUT", subresourcePath(namespace, "preview-migrate-type"), { body, signal });
}
