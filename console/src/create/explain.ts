/** Ask the server for the expanded VM, the origin of each field, and all problems. */
import { ApiError, type Cause, request } from "../api/client";
import type { VirtualMachine } from "../api/objects";
import { collectionPath, subresourcePath, VMS } from "../api/resources";
import type { Inferred } from "./Shape";

export type Origin = "user" | "instancetype" | "flavor" | "preference" | "default";

export interface Explanation {
  /** Absent if the VM cannot be expanded. */
  virtualMachine?: VirtualMachine;
  origins: { field: string; origin: Origin; source?: string }[];
  inferred: Inferred[];
  problems: Cause[];
  warnings: Cause[];
}

/** Return the explanation of a VM, with the problems that a dry run of its creation finds too. */
export async function explainVm(vm: VirtualMachine, namespace: string, signal: AbortSignal): Promise<Explanation> {
  const [explanation, refused] = await Promise.all([explain(vm, namespace, signal), dryRun(vm, namespace, signal)]);
  const known = new Set(explanation.problems.map((problem) => problem.message));
  return { ...explanation, problems: [...explanation.problems, ...refused.filter((one) => !known.has(one.message))] };
}

async function explain(vm: VirtualMachine, namespace: string, signal: AbortSignal): Promise<Explanation> {
  try {
    const path = subresourcePath(namespace, "explain-vm-spec");
    const answer = await request<Partial<Explanation>>("PUT", path, { body: vm, signal });
    return { origins: [], inferred: [], problems: [], warnings: [], ...answer };
  } catch (error) {
    if (signal.aborted) throw error;
    return { origins: [], inferred: [], problems: asProblems(error), warnings: [] };
  }
}

async function dryRun(vm: VirtualMachine, namespace: string, signal: AbortSignal): Promise<Cause[]> {
  if (!vm.metadata.name) return [];
  try {
    await request("POST", collectionPath(VMS, namespace), { body: vm, query: { dryRun: "All" }, signal });
    return [];
  } catch (error) {
    if (signal.aborted) throw error;
    return asProblems(error);
  }
}

/** Return the causes of a refusal, or one problem with its message. */
export function asProblems(error: unknown): Cause[] {
  if (!(error instanceof ApiError)) throw error;
  if (error.reason === "AlreadyExists")
    return [{ field: "metadata.name", message: "A VM with this name already exists." }];
  return error.causes.length ? error.causes : [{ field: "", message: error.message }];
}
