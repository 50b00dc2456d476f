/** Short messages about finished or failed actions, read out by screen readers. */
import { useEffect, useState } from "preact/hooks";
import { describeError } from "../api/client";

interface Message {
  id: number;
  kind: "success" | "error";
  title: string;
  detail: string;
}

const SUCCESS_TIME = 5_000;
let messages: readonly Message[] = [];
let next = 1;
const listeners = new Set<() => void>();

function change(changed: readonly Message[]): void {
  messages = changed;
  for (const listener of listeners) listener();
}

function show(kind: Message["kind"], title: string, detail: string): void {
  const message = { id: next++, kind, title, detail };
  change([...messages.slice(-3), message]);
  if (kind === "success") setTimeout(() => dismiss(message.id), SUCCESS_TIME);
}

function dismiss(id: number): void {
  change(messages.filter((message) => message.id !== id));
}

export const toast = {
  success: (title: string, detail = "") => show("success", title, detail),
  /** Errors stay until they are dismissed. */
  error: (title: string, error: unknown) => show("error", title, describeError(error)),
};

export function Toasts() {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw((count) => count + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return (
    <div class="toasts" role="status" aria-live="polite">
      {messages.map(({ id, kind, title, detail }) => (
        <div key={id} class={`toast toast-${kind}`}>
          <div>
            <strong>{title}</strong>
            {detail && <p>{detail}</p>}
          </div>
          <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
