/** What a page shows instead of its content: loading, empty, or failed. */
import type { ComponentChildren } from "preact";
import type { ApiError } from "../api/client";
import { Button } from "./Button";

export function Loading({ label = "Loading" }: { label?: string }) {
  return (
    <div class="state" role="status">
      <span class="spinner" aria-hidden="true" />
      <p>{label}…</p>
    </div>
  );
}

interface EmptyProps {
  title: string;
  children?: ComponentChildren;
  /** True if the title is the heading of the page. */
  whole?: boolean;
}

export function EmptyState({ title, children, whole = false }: EmptyProps) {
  return (
    <div class="state">
      {whole ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children}
    </div>
  );
}

interface ErrorProps {
  title: string;
  error: ApiError | null;
  retry?: () => void;
  whole?: boolean;
}

/** A failure with the server's message and, if a permission is missing, who can grant it. */
export function ErrorState({ title, error, retry, whole = false }: ErrorProps) {
  return (
    <div class="state" role="alert">
      {whole ? <h1>{title}</h1> : <h2>{title}</h2>}
      <p class="state-message">{error?.message}</p>
      {error?.code === 403 && <p>Choose another namespace, or ask an administrator for permission.</p>}
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}
