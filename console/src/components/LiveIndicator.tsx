import type { LiveState } from "../api/watch";

const TEXT: Record<LiveState, string> = {
  loading: "Loading…",
  live: "Live",
  reconnecting: "Reconnecting…",
  failed: "Not updating",
};

/** Shows whether the page currently receives changes from the server. */
export function LiveIndicator({ state }: { state: LiveState }) {
  return (
    <span class={`live live-${state}`} role="status">
      {TEXT[state]}
    </span>
  );
}
