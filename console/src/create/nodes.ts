/** The size of the largest node, which limits the sizes that the create page offers. */
import { ApiError, request } from "../api/client";
import type { List, Node } from "../api/objects";
import { collectionPath, NODES } from "../api/resources";
import { parseQuantity } from "../format";
import { useLoad } from "../hooks";

export interface NodeSize {
  vcpus: number;
  /** Memory in bytes. */
  memory: number;
}

/** Return the largest number of CPUs and the largest memory of any node, or null if the nodes cannot be read. */
export function useLargestNode(): NodeSize | null {
  const path = collectionPath(NODES);
  const { value } = useLoad(path, async (signal) => {
    try {
      return findLargest((await request<List<Node>>("GET", path, { signal })).items);
    } catch (error) {
      if (error instanceof ApiError) return null; // the form works without limits
      throw error;
    }
  });
  return value;
}

function findLargest(nodes: readonly Node[]): NodeSize | null {
  const capacities = nodes.map((node) => node.status?.capacity ?? {});
  const vcpus = Math.max(...capacities.map(({ cpu }) => parseQuantity(cpu) || 0), 0);
  const memory = Math.max(...capacities.map((capacity) => parseQuantity(capacity.memory) || 0), 0);
  return vcpus && memory ? { vcpus, memory } : null;
}
