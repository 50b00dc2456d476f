/** Client-side routes below /console. A pattern such as /vms/:namespace/:name gives the page its parameters. */
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

const BASE = "/console";

export type Parameters = Record<string, string>;

export interface Page {
  /** Pattern below /console. */
  path: string;
  component: ComponentType<{ parameters: Parameters }>;
  /** Label in the navigation; pages without one are reached from other pages. */
  label?: string;
  /** Label on narrow screens, if it differs. */
  shortLabel?: string;
}

const listeners = new Set<() => void>();
window.addEventListener("popstate", () => notify());

function notify(): void {
  for (const listener of listeners) listener();
}

/** Show another page. The path may have a query. */
export function navigate(path: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history.replaceState(null, "", BASE + path);
  else history.pushState(null, "", BASE + path);
  if (!options.replace) window.scrollTo(0, 0);
  notify();
}

/** Return the current path below /console and its query. */
export function useLocation(): { path: string; query: URLSearchParams } {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw((count) => count + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  const path = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : "";
  return { path: path.replace(/\/+$/, "") || "/", query: new URLSearchParams(location.search) };
}

/** Return the parameters of a path that matches the pattern, or null. */
export function matchPath(pattern: string, path: string): Parameters | null {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return null;
  const parameters: Parameters = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":")) parameters[part.slice(1)] = decodeURIComponent(value);
    else if (part !== value) return null;
  }
  return parameters;
}

/** Return the path of a page, with the parts encoded. */
export function pathTo(...parts: string[]): string {
  return `/${parts.map(encodeURIComponent).join("/")}`;
}

interface LinkProps {
  to: string;
  class?: string;
  title?: string | undefined;
  "aria-current"?: "page" | undefined;
  children: ComponentChildren;
}

/** A link to a page of the console. */
export function Link({ to, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a {...rest} href={BASE + to} onClick={follow}>
      {children}
    </a>
  );
}
