/** Hooks that connect components to the API. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, describeError, request } from "./api/client";
import type { KubernetesObject, List } from "./api/objects";
import { collectionPath, type Resource } from "./api/resources";
import { type Live, liveList } from "./api/watch";

const NOTHING: Live<never> = { items: [], state: "loading", error: null };

/** Follow a collection with a watch. Pass null to follow nothing. A page should follow three collections at most. */
export function useLive<T extends KubernetesObject>(
  of: Resource<T> | null,
  namespace?: string,
  query?: Record<string, string>,
): Live<T> & { retry: () => void } {
  const [, redraw] = useState(0);
  const key = of ? `${collectionPath(of, namespace)}?${new URLSearchParams(query)}` : "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the resource, namespace and query
  useEffect(() => {
    if (!of) return;
    redraw((count) => count + 1);
    return liveList(of, namespace, query).subscribe(() => redraw((count) => count + 1));
  }, [key]);
  const list = of ? liveList(of, namespace, query) : null;
  const retry = () => {
    list?.retry();
    redraw((count) => count + 1);
  };
  return { ...(list ? list.snapshot : NOTHING), retry };
}

export interface Loaded<T> {
  value: T | null;
  error: ApiError | null;
  isLoading: boolean;
  reload: () => void;
}

/** Load a value when the key changes; the previous value stays until the next one is loaded. */
export function useLoad<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, "reload">>({ value: null, error: null, isLoading: true });
  const [count, setCount] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key and the count decide when to load
  useEffect(() => {
    const abort = new AbortController();
    setState((old) => ({ ...old, isLoading: true }));
    latest.current(abort.signal).then(
      (value) => !abort.signal.aborted && setState({ value, error: null, isLoading: false }),
      (error) => !abort.signal.aborted && setState((old) => ({ ...old, error: asApiError(error), isLoading: false })),
    );
    return () => abort.abort();
  }, [key, count]);
  return { ...state, reload: useCallback(() => setCount((old) => old + 1), []) };
}

/** Load a collection once, without a watch. */
export function useCollection<T extends KubernetesObject>(of: Resource<T>, namespace?: string): Loaded<readonly T[]> {
  const path = collectionPath(of, namespace);
  return useLoad(path, async (signal) => (await request<List<T>>("GET", path, { signal })).items);
}

/** Return the value after it has not changed for this many milliseconds. */
export function useDebounced<T>(value: T, delay: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), delay);
    return () => clearTimeout(timer);
  }, [value, delay]);
  return settled;
}

const NARROW = window.matchMedia("(max-width: 720px)");

/** Return true on screens of phones, where a page shows cards instead of wide tables. */
export function useIsNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const update = () => setNarrow(NARROW.matches);
    NARROW.addEventListener("change", update);
    return () => NARROW.removeEventListener("change", update);
  }, []);
  return isNarrow;
}

/** Set the title of the window while a page is shown. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · virtshape`;
  }, [title]);
}

function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError({ message: describeError(error) }, 0);
}
