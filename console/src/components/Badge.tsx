import type { ComponentChildren } from "preact";

export type Tone = "neutral" | "good" | "busy" | "warning" | "bad" | "info";

/** A small label with a tone; the text alone must say what it means. */
export function Badge({
  tone = "neutral",
  title,
  children,
}: {
  tone?: Tone;
  title?: string;
  children: ComponentChildren;
}) {
  return (
    <span class={`badge badge-${tone}`} title={title}>
      {children}
    </span>
  );
}
