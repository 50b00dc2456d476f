/** The page of an instance type or preference, kept up to date: header, VMs that use it, compatibility and YAML. */
import type { ComponentChildren } from "preact";
import { Badge } from "../components/Badge";
import { ButtonLink } from "../components/Button";
import { CopyButton } from "../components/CopyButton";
import { LiveIndicator } from "../components/LiveIndicator";
import { PageHeader } from "../components/PageHeader";
import { EmptyState, ErrorState, Loading } from "../components/States";
import { type Tab, Tabs } from "../components/Tabs";
import { YamlView } from "../components/YamlView";
import { useLive } from "../hooks";
import { navigate, type Parameters, useLocation } from "../router";
import type { Role } from "../vm/status";
import { formatYaml } from "../yaml";
import { Compatibility } from "./Compatibility";
import { describeLifecycle, LifecycleBadge } from "./Lifecycle";
import { ShapeActions } from "./ShapeActions";
import { descriptionOf, refOf, resourceOf, SHAPES, type Shape, titleOf } from "./shapes";
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
  const live = useLive(resourceOf(role, named), namespace, { fieldSelector: `metadata.name=${name}` });
  const shape = live.items[0] as T | undefined;
  const { path, query } = useLocation();
  const { label, labels } = SHAPES[role];

  if (live.state === "failed")
    return <ErrorState whole title={`${name} cannot be shown`} error={live.error} retry={live.retry} />;
  if (!shape && live.state === "loading") return <Loading label={`Loading ${name}`} />;
  if (!shape)
    return (
      <EmptyState whole title={`There is no ${label} ${refOf(named)}`}>
        <ButtonLink to={`/${SHAPES[role].path}`}>Show the {labels}</ButtonLink>
      </EmptyState>
    );
  const about = (
    <span class="about-line">
      <Badge>{namespace ? `Namespace ${namespace}` : "Cluster-wide"}</Badge>
      <LifecycleBadge metadata={shape.metadata} />
      <span>{titleOf(shape)}</span>
      <LiveIndicator state={live.state} />
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
  const outdated = describeLifecycle(shape.metadata);
  return (
    <>
      {outdated && (
        <p class="notice notice-warning" role="status">
          {shape.metadata.name} is {outdated}.
        </p>
      )}
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
