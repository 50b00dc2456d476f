import type { ComponentChildren } from "preact";
import { useTitle } from "../hooks";

interface PageHeaderProps {
  title: string;
  /** A line below the title. */
  about?: ComponentChildren;
  /** Buttons at the end of the line. */
  actions?: ComponentChildren;
}

export function PageHeader({ title, about, actions }: PageHeaderProps) {
  useTitle(title);
  return (
    <div class="page-header">
      <div>
        <h1>{title}</h1>
        {about && <div class="page-about">{about}</div>}
      </div>
      {actions && <div class="page-actions">{actions}</div>}
    </div>
  );
}
