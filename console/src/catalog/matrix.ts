/** All instance types with all preferences, as the server checks them. */
import { request } from "../api/client";
import { subresourcePath } from "../api/resources";
import { type Loaded, useLoad } from "../hooks";
import { type Pair, refIn } from "./fits";
import { refOf, resourceOf, type Shape } from "./shapes";

const AT_ONCE = 25; // instance types that one request may name

/** Reasons of each pair, by the references of the instance type and the preference; none means compatible. */
export type Matrix = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

/** Check the given instance types with all preferences that VMs of the namespace can use. */
export function useMatrix(instancetypes: readonly Shape[], namespace: string, revision: string): Loaded<Matrix> {
  const scope = namespace || "default";
  const key = `matrix/${scope}/${instancetypes.map(({ metadata }) => refOf(metadata)).join()}/${revision}`;
  return useLoad(key, async (signal) => {
    const matrix = new Map<string, Map<string, readonly string[]>>();
    for (let at = 0; at < instancetypes.length; at += AT_ONCE) {
      const named = instancetypes.slice(at, at + AT_ONCE).map(({ metadata }) => ({
        name: metadata.name,
        kind: resourceOf("instancetype", metadata).kind,
      }));
      const path = subresourcePath(scope, "check-compatibility");
      const { items } = await request<{ items: Pair[] }>("PUT", path, { body: { instancetypes: named }, signal });
      for (const { instancetype, preference, problems } of items) {
        const ref = refIn(scope, "instancetype", instancetype);
        const row = matrix.get(ref) ?? new Map<string, readonly string[]>();
        row.set(
          refIn(scope, "preference", preference),
          problems.map((problem) => problem.message),
        );
        matrix.set(ref, row);
      }
    }
    return matrix;
  });
}

/** Number the reasons of the shown pairs, in the order in which they occur. */
export function numberReasons(
  matrix: Matrix,
  rows: readonly string[],
  columns: readonly string[],
): Map<string, number> {
  const numbers = new Map<string, number>();
  for (const row of rows)
    for (const column of columns)
      for (const reason of matrix.get(row)?.get(column) ?? [])
        if (!numbers.has(reason)) numbers.set(reason, numbers.size + 1);
  return numbers;
}
