/** The frame of the pages of an instance type and of a preference: header, use, compatibility and YAML. */
import type { ComponentChildren } from "preact";
import { Badge } from "../components/Badge";
import { ButtonLink } from "../components/Button";
import { CopyButton } from "../components/CopyButton";
import { PageHeader } from "../components/PageHeader";
import { EmptyState, ErrorState, Loading } from "../components/States";
import { type Tab, Tabs } from "../components/Tabs";
import { YamlView } from "../components/YamlView";
import { useLoad } from "../hooks";
import { navigate, type Parameters, useLocation } from "../router";
import type { Role } from "../vm/status";
import { formatYaml } from "../yaml";
import { Compatibility } from "./Compatibility";
import { ShapeActions } from "./ShapeActions";
import { descriptionOf, loadShape, refOf, SHAPES, type Shape, titleOf } from "./shapes";
import { UsedBy } from "./UsedBy";

interface ShapeDetailProps<T extends Shape> {
  of: Role;
  parameters: Parameters;
  /** The first tab. */
  overview: (shape: T) => ComponentChildren;
}

export function ShapeDetail<T extends Shape>({ of: role, parameters, overview }: ShapeDetailProps<T>) {
  const { name = "", namespace } = parameters;
  const named = { name, ...(namespace && { namespace }) };
  const {
    value: shape,
    error,
    reload,
  } = useLoad(`${role}/${refOf(named)}`, (signal) => loadShape<T>(role, named, signal));
  const { path, query } = useLocation();
  const { label, labels } = SHAPES[role];

  if (error?.code === 404)
    return (
      <EmptyState title={`There is no ${label} ${refOf(named)}`}>
        <ButtonLink to={`/${SHAPES[role].path}`}>Show the {labels}</ButtonLink>
      </EmptyState>
    );
  if (error) return <ErrorState title={`${name} cannot be shown`} error={error} retry={reload} />;
  if (!shape) return <Loading label={`Loading ${name}`} />;
  const about = (
    <span class="about-line">
      <Badge>{namespace ? `Namespace ${namespace}` : "Cluster-wide"}</Badge>
      <span>{titleOf(shape)}</span>
    </span>
  );
  const tabs: Tab[] = [
    { id: "overview", label: "Overview", render: () => <Overview shape={shape}>{overview(shape)}</Overview> },
    { id: "compatibility", label: "Compatibility", render: () => <Compatibility of={role} shape={shape} /> },
    { id: "vms", label: "Used by", render: () => <UsedBy of={role} shape={shape} /> },
    { id: "yaml", label: "YAML", render: () => <ShapeYaml shape={shape} /> },
  ];
  return (
    <>
      <PageHeader title={name} about={about} actions={<ShapeActions of={role} shape={shape} />} />
      <Tabs
        label={`Parts of the ${label}`}
        tabs={tabs}
        selected={query.get("tab") ?? "overview"}
        onSelect={(tab) => navigate(`${path}?tab=${tab}`, { replace: true })}
      />
    </>
  );
}

function Overview({ shape, children }: { shape: Shape; children: ComponentChildren }) {
  const description = descriptionOf(shape);
  return (
    <>
      {description && <p class="shape-description">{description}</p>}
      <div class="shape-overview">{children}</div>
    </>
  );
}

function ShapeYaml({ shape }: { shape: Shape }) {
  const { managedFields: _, ...metadata } = shape.metadata as Shape["metadata"] & { managedFields?: unknown };
  const shown = { ...shape, metadata };
  return (
    <>
      <div class="toolbar">
        <CopyButton label="Copy" text={() => formatYaml(shown)} />
      </div>
      <YamlView object={shown} label="The object as YAML" />
    </>
  );
}

interface FactsProps {
  title: string;
  facts: readonly (readonly [string, ComponentChildren])[];
  /** The labels are names of fields. */
  areFields?: boolean;
}

/** A list of facts with a heading. */
export function Facts({ title, facts, areFields = false }: FactsProps) {
  return (
    <section class="card overview-card">
      <h2>{title}</h2>
      {facts.map(([label, value]) => (
        <dl key={label} class={areFields ? "fact fact-field mono" : "fact"}>
          <dt>{label}</dt>
          <dd>{value || <span class="muted">not set</span>}</dd>
        </dl>
      ))}
    </section>
  );
}
