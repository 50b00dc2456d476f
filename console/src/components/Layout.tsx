/** The frame of every page: navigation, namespace, theme and user. */
import type { ComponentChildren } from "preact";
import { useContext, useState } from "preact/hooks";
import { NAMESPACES } from "../api/resources";
import type { Session } from "../api/session";
import { useCollection } from "../hooks";
import { PAGES } from "../pages";
import { Link } from "../router";
import { ALL_NAMESPACES, applyTheme, loadTheme, NamespaceContext, type Theme } from "../settings";

interface LayoutProps {
  session: Session;
  path: string;
  signOut: () => void;
  children: ComponentChildren;
}

export function Layout({ session, path, signOut, children }: LayoutProps) {
  return (
    <div class="layout">
      <a class="skip-link" href="#content">
        Skip to content
      </a>
      <header class="top">
        <Link to="/vms" class="brand">
          <Logo /> virtshape
        </Link>
        <nav class="navigation" aria-label="Pages">
          {PAGES.filter((page) => page.label).map((page) => (
            <Link key={page.path} to={page.path} aria-current={isCurrent(page.path, path) ? "page" : undefined}>
              {page.label}
            </Link>
          ))}
        </nav>
        <div class="top-controls">
          <NamespaceChoice />
          <ThemeChoice />
          <span class="user" title={`Groups: ${session.groups.join(", ") || "none"}`}>
            {session.username}
          </span>
          <button type="button" class="button button-quiet" onClick={signOut}>
            Sign out
          </button>
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function isCurrent(page: string, path: string): boolean {
  return path === page || path.startsWith(`${page}/`);
}

function Logo() {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <rect width="32" height="32" rx="7" fill="currentColor" />
      <path d="M7 9h8v6H7zM7 17h8v6H7zM17 9h8v14h-8z" class="logo-shape" />
    </svg>
  );
}

function NamespaceChoice() {
  const { namespace, setNamespace } = useContext(NamespaceContext);
  const { value, error } = useCollection(NAMESPACES);
  const names = new Set(value?.map((item) => item.metadata.name));
  if (namespace !== ALL_NAMESPACES) names.add(namespace);
  if (error) return <NamespaceInput namespace={namespace} setNamespace={setNamespace} />;
  return (
    <select
      class="input input-small"
      aria-label="Namespace"
      value={namespace}
      onChange={(event) => setNamespace(event.currentTarget.value)}
    >
      <option value={ALL_NAMESPACES}>All namespaces</option>
      {[...names].sort().map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** For users who may not list namespaces. */
function NamespaceInput({ namespace, setNamespace }: { namespace: string; setNamespace: (name: string) => void }) {
  return (
    <input
      class="input input-small"
      aria-label="Namespace"
      value={namespace}
      placeholder="All namespaces"
      onChange={(event) => setNamespace(event.currentTarget.value.trim())}
    />
  );
}

function ThemeChoice() {
  const [theme, setTheme] = useState(loadTheme);
  const choose = (chosen: Theme) => {
    applyTheme(chosen);
    setTheme(chosen);
  };
  return (
    <select
      class="input input-small"
      aria-label="Theme"
      value={theme}
      onChange={(event) => choose(event.currentTarget.value as Theme)}
    >
      <option value="system">System theme</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}
