/** The frame of every page: navigation, namespace and user. */
import type { ComponentChildren } from "preact";
import type { Session } from "../api/session";
import { PAGES } from "../pages";
import { Link } from "../router";
import { Logo } from "./Logo";
import { NamespaceChoice } from "./NamespaceChoice";
import { UserMenu } from "./UserMenu";

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
          {PAGES.filter((page) => page.label).map(({ path: to, label, shortLabel = label }) => (
            <Link key={to} to={to} aria-current={isCurrent(to, path) ? "page" : undefined}>
              <span class="when-wide">{label}</span>
              <span class="when-narrow">{shortLabel}</span>
            </Link>
          ))}
        </nav>
        <div class="top-controls">
          <NamespaceChoice />
          <UserMenu session={session} signOut={signOut} />
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
