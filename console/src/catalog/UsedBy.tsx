/** The VMs that use an instance type or preference. */
import { useMemo } from "preact/hooks";
import type { VirtualMachine } from "../api/objects";
import { VMS } from "../api/resources";
import { Badge } from "../components/Badge";
import { EmptyState, ErrorState, Loading } from "../components/States";
import { type Column, Table } from "../components/Table";
import { useLive } from "../hooks";
import { Link, pathTo } from "../router";
import { useNamespace } from "../settings";
import { compareRevision } from "../vm/catalog";
import { kindOf, type Role, revisionOf, sizeOf, statusOf, toneOf } from "../vm/status";
import { resourceOf, SHAPES, type Shape } from "./shapes";

export function UsedBy({ of: role, shape }: { of: Role; shape: Shape }) {
  const chosen = useNamespace();
  const namespace = shape.metadata.namespace ?? chosen;
  const { items, state, error, retry } = useLive(VMS, namespace);
  const vms = useMemo(() => items.filter((vm) => uses(vm, role, shape)), [items, role, shape]);
  const columns = useMemo(() => buildColumns(role, shape), [role, shape]);
  const place = namespace ? `namespace ${namespace}` : "any namespace";
  if (state === "failed") return <ErrorState title="The VMs cannot be listed" error={error} retry={retry} />;
  if (state === "loading") return <Loading label="Loading VMs" />;
  if (vms.length === 0) return <EmptyState title={`No VM in ${place} uses this ${SHAPES[role].label}`} />;
  return (
    <div class="used-by" style={{ height: `${Math.min(40 + 41 * vms.length, 420)}px` }}>
      <Table
        label={`VMs that use this ${SHAPES[role].label}`}
        columns={columns}
        rows={vms}
        rowKey={(vm) => `${vm.metadata.namespace}/${vm.metadata.name}`}
        sorted="name"
        empty={null}
      />
    </div>
  );
}

function uses(vm: VirtualMachine, role: Role, shape: Shape): boolean {
  const matcher = vm.spec[role];
  if (!matcher?.name || matcher.name !== shape.metadata.name) return false;
  const isOwnNamespace = !shape.metadata.namespace || shape.metadata.namespace === vm.metadata.namespace;
  return isOwnNamespace && kindOf(role, matcher) === resourceOf(role, shape.metadata).kind;
}

const VERSIONS = {
  current: "current",
  changed: <Badge tone="info">earlier</Badge>,
  unknown: <span class="muted">unknown</span>,
};

function buildColumns(role: Role, shape: Shape): Column<VirtualMachine>[] {
  return [
    {
      id: "name",
      title: "Name",
      render: ({ metadata: { namespace = "", name } }) => (
        <Link to={pathTo("vms", namespace, name)} class="row-link">
          {name}
        </Link>
      ),
      sortBy: (vm) => vm.metadata.name,
    },
    {
      id: "namespace",
      title: "Namespace",
      optional: 2,
      render: (vm) => vm.metadata.namespace,
      sortBy: (vm) => vm.metadata.namespace ?? "",
    },
    {
      id: "status",
      title: "Status",
      width: "9.5rem",
      narrowWidth: "6.5rem",
      render: (vm) => <Badge tone={toneOf(statusOf(vm))}>{statusOf(vm)}</Badge>,
      sortBy: statusOf,
    },
    { id: "size", title: "Size", optional: 2, render: sizeOf, sortBy: sizeOf },
    {
      id: "version",
      title: "Version",
      width: "8rem",
      narrowWidth: "5.5rem",
      render: (vm) => {
        const revision = revisionOf(vm, role);
        return revision ? VERSIONS[compareRevision(revision, shape.metadata)] : <span class="muted">not stored</span>;
      },
    },
  ];
}
