import type { KubernetesObject } from "../api/objects";
import type { Live } from "../api/watch";
import { LiveIndicator } from "../components/LiveIndicator";

type ListState = Live<KubernetesObject>;

interface CatalogStateProps {
  cluster: ListState;
  /** State of the list of objects in the namespace, which not all users may list. */
  own: ListState;
  namespace: string;
}

/** Shows whether a catalog list is up to date, and whether it lacks the objects in the namespace. */
export function CatalogState({ cluster, own, namespace }: CatalogStateProps) {
  const place = namespace ? `namespace ${namespace}` : "namespaces";
  if (own.state !== "failed") return <LiveIndicator state={cluster.state === "live" ? own.state : cluster.state} />;
  return (
    <>
      <span class="muted" role="status" title={own.error?.message}>
        objects in {place} are not shown: not permitted
      </span>
      <LiveIndicator state={cluster.state} />
    </>
  );
}

/** Return true while a list is loading and has no objects; pages show all lists at once, so that cards do not move. */
export function areLoading(...lists: readonly ListState[]): boolean {
  return lists.some(({ items, state, error }) => state === "loading" && !error && items.length === 0);
}
