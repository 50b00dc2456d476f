import type { VirtualMachine } from "../api/objects";
import { VMS } from "../api/resources";
import { PageHeader } from "../components/PageHeader";
import { EmptyState } from "../components/States";
import { type Column, Table } from "../components/Table";
import { useLive } from "../hooks";
import { useNamespace } from "../settings";

const COLUMNS: Column<VirtualMachine>[] = [
  { id: "name", title: "Name", render: (vm) => vm.metadata.name, sortBy: (vm) => vm.metadata.name },
];

export function VmList() {
  const { items } = useLive(VMS, useNamespace());
  return (
    <>
      <PageHeader title="Virtual machines" />
      <Table
        label="Virtual machines"
        columns={COLUMNS}
        rows={items}
        rowKey={(vm) => `${vm.metadata.uid}`}
        sorted="name"
        empty={<EmptyState title="No virtual machines" />}
      />
    </>
  );
}
