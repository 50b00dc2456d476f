/** Filters in the address, so that a filtered list can be bookmarked, shared and returned to. */
import { navigate, useLocation } from "../router";

export interface Query {
  get: (name: string) => string;
  /** Set some parameters; empty ones are removed. */
  set: (changes: Record<string, string>) => void;
  /** Parameters with a comma-separated list. */
  list: (name: string) => string[];
}

export function useQuery(): Query {
  const { path, query } = useLocation();
  const set = (changes: Record<string, string>) => {
    const changed = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(changes)) value ? changed.set(name, value) : changed.delete(name);
    navigate(`${path}${changed.size ? `?${changed}` : ""}`, { replace: true });
  };
  return {
    get: (name) => query.get(name) ?? "",
    set,
    list: (name) => query.get(name)?.split(",").filter(Boolean) ?? [],
  };
}
