import type { LiveState } from "../api/watch";

const TEXT: Record<LiveState, string> = {
  loading: "Loading…",
  live: "Live",
  reconnecting: "Reconnecting…",
  failed: "Not updating",
};

/** Whether the page follows the server at the moment. */
export function LiveIndicator({ state }: { state: LiveState }) {
  return (
    <span class={`live live-${state}`} role="status">
      {TEXT[state]}
    </span>
  );
}
