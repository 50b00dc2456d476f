/** Choices that the browser remembers: the theme and the namespace. Nothing secret is stored. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";

export type Theme = "system" | "light" | "dark";

const THEME = "virtshape.theme";
const NAMESPACE = "virtshape.namespace";

/** Every namespace, as a choice. */
export const ALL_NAMESPACES = "";

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // storage is disabled
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // storage is disabled: the choice lasts until the page is closed
  }
}

export function loadTheme(): Theme {
  const theme = read(THEME);
  return theme === "light" || theme === "dark" ? theme : "system";
}

/** Show the page in this theme and remember it. */
export function applyTheme(theme: Theme): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  write(THEME, theme);
}

export function loadNamespace(): string {
  return read(NAMESPACE) ?? "default";
}

export function saveNamespace(namespace: string): void {
  write(NAMESPACE, namespace);
}

export const NamespaceContext = createContext<{ namespace: string; setNamespace: (name: string) => void }>({
  namespace: "default",
  setNamespace: () => {},
});

/** The namespace that is chosen in the header; ALL_NAMESPACES means every one. */
export function useNamespace(): string {
  return useContext(NamespaceContext).namespace;
}
