/** Check with the server which instance types and preferences can be used together. */
import { request } from "../api/client";
import type { Matcher } from "../api/objects";
import { subresourcePath } from "../api/resources";
import { type Loaded, useLoad } from "../hooks";
import type { Role } from "../vm/status";
import { refOf, SHAPES, type Shape } from "./shapes";

/** A pair in the response of check-compatibility. */
export interface Pair {
  instancetype: Matcher;
  preference: Matcher;
  compatible: boolean;
  problems: { field: string; reason: string; message: string }[];
}

/** Reasons why an object does not fit, by its reference; an empty text means that it fits. */
export type Fits = ReadonlyMap<string, string>;

/**
 * Check an object with all objects of the other role that its VMs can use: cluster-wide ones and those of the namespace.
 * Pass null to check nothing.
 */
export function useCompatibility(role: Role, shape: Shape | null, namespace: string): Loaded<Fits | null> {
  const own = shape?.metadata;
  const scope = own?.namespace || namespace || "default";
  const key = own ? `fits/${scope}/${role}/${refOf(own)}/${own.resourceVersion}` : "";
  return useLoad(key, async (signal) => {
    if (!own) return null;
    const names = [{ name: own.name, kind: SHAPES[role][own.namespace ? "namespaced" : "cluster"].kind }];
    const path = subresourcePath(scope, "check-compatibility");
    const { items } = await request<{ items: Pair[] }>("PUT", path, { body: { [`${role}s`]: names }, signal });
    const other: Role = role === "instancetype" ? "preference" : "instancetype";
    return new Map(items.map((pair) => [refIn(scope, other, pair[other]), reasonOf(pair)]));
  });
}

/** Return the reference of an object that the server names; the namespace is that of the request. */
export function refIn(namespace: string, role: Role, { name = "", kind }: Matcher): string {
  return kind === SHAPES[role].namespaced.kind ? refOf({ namespace, name }) : name;
}

function reasonOf({ compatible, problems }: Pair): string {
  return compatible ? "" : problems.map((problem) => problem.message).join("; ") || "Not compatible";
}
