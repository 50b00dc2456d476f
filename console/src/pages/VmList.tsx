/** All VMs of a namespace, as they change. */
import { useMemo, useState } from "preact/hooks";
import type { VirtualMachine } from "../api/objects";
import { VMS } from "../api/resources";
import { Badge } from "../components/Badge";
import { ButtonLink } from "../components/Button";
import { LiveIndicator } from "../components/LiveIndicator";
import { PageHeader } from "../components/PageHeader";
import { EmptyState, ErrorState, Loading } from "../components/States";
import { type Column, Table } from "../components/Table";
import { formatAge, parseQuantity } from "../format";
import { useLive } from "../hooks";
import { Link, pathTo } from "../router";
import { ALL_NAMESPACES, useNamespace } from "../settings";
import { type Catalog, useCatalog } from "../vm/catalog";
import { NewerBadge } from "../vm/NewerBadge";
import { RowActions } from "../vm/RowActions";
import { sizeOf, statusOf, toneOf } from "../vm/status";

export function VmList() {
  const namespace = useNamespace();
  const { items, state, error, retry } = useLive(VMS, namespace);
  const catalog = useCatalog(namespace);
  const [search, setSearch] = useState("");
  const [status, setStatus] = useState("");
  const columns = useMemo(() => buildColumns(namespace === ALL_NAMESPACES, catalog), [namespace, catalog]);
  const statuses = useMemo(() => [...new Set(items.map(statusOf))].sort(), [items]);
  const rows = useMemo(() => filterVms(items, search, status), [items, search, status]);

  const actions = (
    <>
      <ButtonLink to="/import">Import</ButtonLink>
      <ButtonLink to="/create" look="primary">
        Create a VM
      </ButtonLink>
    </>
  );
  if (state === "failed")
    return <ErrorState whole title="The virtual machines cannot be shown" error={error} retry={retry} />;
  return (
    <>
      <PageHeader title="Virtual machines" actions={actions} />
      <div class="toolbar">
        <input
          class="input input-search"
          type="search"
          aria-label="Search by name, instance type or preference"
          placeholder="Search VMs"
          value={search}
          onInput={(event) => setSearch(event.currentTarget.value)}
        />
        <select
          class="input input-small"
          aria-label="Status"
          value={status}
          onChange={(event) => setStatus(event.currentTarget.value)}
        >
          <option value="">All statuses</option>
          {statuses.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <span class="muted toolbar-end">
          {rows.length === items.length ? items.length : `${rows.length} of ${items.length}`} VMs
        </span>
        <LiveIndicator state={state} />
      </div>
      <Table
        label="Virtual machines"
        columns={columns}
        rows={rows}
        rowKey={(vm) => `${vm.metadata.namespace}/${vm.metadata.name}`}
        sorted="name"
        empty={<NoVms isLoading={state === "loading"} isFiltered={items.length > 0} namespace={namespace} />}
      />
    </>
  );
}

function NoVms({ isLoading, isFiltered, namespace }: { isLoading: boolean; isFiltered: boolean; namespace: string }) {
  if (isLoading) return <Loading label="Loading virtual machines" />;
  if (isFiltered)
    return (
      <EmptyState title="No virtual machine matches">
        <p>Search for a part of the name, instance type or preference, or choose all statuses.</p>
      </EmptyState>
    );
  return (
    <EmptyState title={namespace ? `No virtual machines in namespace ${namespace}` : "No virtual machines yet"}>
      <p>Choose an image, an instance type and a preference, and see the result before you create it.</p>
    </EmptyState>
  );
}

function filterVms(vms: readonly VirtualMachine[], search: string, status: string): readonly VirtualMachine[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length && !status) return vms;
  return vms.filter((vm) => {
    const text =
      `${vm.metadata.name} ${vm.spec.instancetype?.name ?? ""} ${vm.spec.preference?.name ?? ""}`.toLowerCase();
    return (!status || statusOf(vm) === status) && words.every((word) => text.includes(word));
  });
}

function buildColumns(showsNamespace: boolean, catalog: Catalog | null): Column<VirtualMachine>[] {
  const columns: Column<VirtualMachine>[] = [
    {
      id: "name",
      title: "Name",
      render: (vm) => <VmName vm={vm} showsNamespace={showsNamespace} catalog={catalog} />,
      sortBy: (vm) => vm.metadata.name,
    },
    {
      id: "namespace",
      title: "Namespace",
      width: "10rem",
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
    {
      id: "size",
      title: "Size",
      width: "9rem",
      optional: 2,
      render: (vm) => <span title={topologyOf(vm)}>{sizeOf(vm)}</span>,
      sortBy: (vm) => (vm.status?.effective?.vcpus ?? 0) * 1e15 + (parseQuantity(vm.status?.effective?.memory) || 0),
    },
    {
      id: "instancetype",
      title: "Instance type",
      width: "12rem",
      optional: 1,
      render: (vm) => <ShapeName vm={vm} catalog={catalog} />,
      sortBy: (vm) => vm.spec.instancetype?.name ?? "",
    },
    {
      id: "preference",
      title: "Preference",
      width: "10rem",
      optional: 1,
      render: (vm) => vm.spec.preference?.name ?? <span class="muted">none</span>,
      sortBy: (vm) => vm.spec.preference?.name ?? "",
    },
    {
      id: "age",
      title: "Age",
      width: "5rem",
      align: "end",
      optional: 1,
      render: (vm) => <time title={vm.metadata.creationTimestamp}>{formatAge(vm.metadata.creationTimestamp)}</time>,
      sortBy: (vm) => -Date.parse(vm.metadata.creationTimestamp ?? ""),
    },
    { id: "actions", title: "", width: "15rem", align: "end", optional: 2, render: (vm) => <RowActions vm={vm} /> },
  ];
  return showsNamespace ? columns : columns.filter((column) => column.id !== "namespace");
}

interface VmNameProps {
  vm: VirtualMachine;
  showsNamespace: boolean;
  catalog: Catalog | null;
}

/** The name; on narrow screens with what the hidden columns show. */
function VmName({ vm, showsNamespace, catalog }: VmNameProps) {
  const { namespace = "", name } = vm.metadata;
  const about = [showsNamespace ? namespace : "", sizeOf(vm)].filter(Boolean).join(" · ");
  return (
    <>
      <Link to={pathTo("vms", namespace, name)} class="row-link" title={name}>
        {name}
      </Link>
      <span class="row-about when-narrow">
        {about} <NewerBadge vm={vm} catalog={catalog} />
      </span>
    </>
  );
}

function topologyOf(vm: VirtualMachine): string {
  const topology = vm.status?.effective?.topology;
  return topology ? `${topology} (sockets x cores x threads)` : "";
}

function ShapeName({ vm, catalog }: { vm: VirtualMachine; catalog: Catalog | null }) {
  return (
    <>
      {vm.spec.instancetype?.name ?? <span class="muted">none</span>} <NewerBadge vm={vm} catalog={catalog} />
    </>
  );
}
