import { Link } from "../router";
import { CompareChoice } from "./CompareTray";
import { LifecycleBadge } from "./Lifecycle";
import { OsIcon } from "./OsIcon";
import type { PreferenceEntry } from "./preferences";
import { shapePath } from "./shapes";

interface PreferenceCardProps {
  entry: PreferenceEntry;
  compared: string[];
  onCompare: (refs: string[]) => void;
}

export function PreferenceCard({ entry, compared, onCompare }: PreferenceCardProps) {
  const { object, ref, name, title, os, family, architecture } = entry;
  const { requirements } = object.spec;
  const needs = [
    requirements?.cpu?.guest ? `${requirements.cpu.guest} vCPU` : "",
    requirements?.memory?.guest ?? "",
    architecture,
  ].filter(Boolean);
  return (
    <li class="card shape-card">
      <div class="shape-head">
        <OsIcon os={os} family={family} />
        <div class="shape-names">
          <Link to={shapePath("preference", object.metadata)} class="row-link shape-name" title={ref}>
            {name}
          </Link>
          <span class="muted shape-title">{title || os}</span>
        </div>
        <LifecycleBadge metadata={object.metadata} />
        <CompareChoice item={ref} refs={compared} onChange={onCompare} />
      </div>
      {object.metadata.namespace && <span class="muted shape-scope">Namespace {object.metadata.namespace}</span>}
      <p class="shape-needs">
        {needs.length ? (
          <>
            <span class="muted">Needs</span> {needs.join(" · ")}
          </>
        ) : (
          <span class="muted">Accepts every size</span>
        )}
      </p>
    </li>
  );
}
