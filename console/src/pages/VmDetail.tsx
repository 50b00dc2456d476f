/** One VM: overview, events, YAML, serial console and screen. */
import type { VirtualMachine, VirtualMachineInstance } from "../api/objects";
import { VMIS, VMS } from "../api/resources";
import { Badge } from "../components/Badge";
import { ButtonLink } from "../components/Button";
import { CopyButton } from "../components/CopyButton";
import { LiveIndicator } from "../components/LiveIndicator";
import { PageHeader } from "../components/PageHeader";
import { EmptyState, ErrorState, Loading } from "../components/States";
import { type Tab, Tabs } from "../components/Tabs";
import { YamlView } from "../components/YamlView";
import { GuestScreen } from "../guest/GuestScreen";
import { SerialConsole } from "../guest/SerialConsole";
import { useLive } from "../hooks";
import { navigate, type Parameters, pathTo, useLocation } from "../router";
import { useCatalog } from "../vm/catalog";
import { removeServerFields } from "../vm/gitops";
import { statusOf, toneOf } from "../vm/status";
import { VmActions } from "../vm/VmActions";
import { VmEvents } from "../vm/VmEvents";
import { VmOverview } from "../vm/VmOverview";
import { formatYaml } from "../yaml";

export function VmDetail({ parameters }: { parameters: Parameters }) {
  const { namespace = "", name = "" } = parameters;
  const selector = { fieldSelector: `metadata.name=${name}` };
  const vms = useLive(VMS, namespace, selector);
  const vmis = useLive(VMIS, namespace, selector);
  const catalog = useCatalog(namespace);
  const { query } = useLocation();
  const vm = vms.items[0];

  if (vms.state === "failed")
    return <ErrorState whole title={`${name} cannot be shown`} error={vms.error} retry={vms.retry} />;
  if (!vm && vms.state === "loading") return <Loading label={`Loading ${name}`} />;
  if (!vm) {
    return (
      <EmptyState whole title={`There is no virtual machine ${name} in namespace ${namespace}`}>
        <ButtonLink to="/vms">Show the virtual machines</ButtonLink>
      </EmptyState>
    );
  }
  const vmi = vmis.items[0];
  const about = (
    <span class="about-line">
      <Badge tone={toneOf(statusOf(vm))}>{statusOf(vm)}</Badge>
      <span>{namespace}</span>
      <LiveIndicator state={vms.state} />
    </span>
  );
  const select = (tab: string) => navigate(`${pathTo("vms", namespace, name)}?tab=${tab}`, { replace: true });
  return (
    <>
      <PageHeader title={name} about={about} actions={<VmActions vm={vm} catalog={catalog} />} />
      <Tabs
        label="Parts of the virtual machine"
        tabs={buildTabs(vm, vmi, catalog)}
        selected={query.get("tab") ?? "overview"}
        onSelect={select}
      />
    </>
  );
}

function buildTabs(
  vm: VirtualMachine,
  vmi: VirtualMachineInstance | undefined,
  catalog: ReturnType<typeof useCatalog>,
): Tab[] {
  const { namespace = "", name } = vm.metadata;
  const isUp = vmi?.status?.phase === "Running";
  const whenUp = (render: () => preact.ComponentChildren) => () =>
    isUp ? render() : <EmptyState title="The guest is not running" />;
  return [
    { id: "overview", label: "Overview", render: () => <VmOverview vm={vm} vmi={vmi} catalog={catalog} /> },
    { id: "events", label: "Events", render: () => <VmEvents namespace={namespace} name={name} /> },
    { id: "yaml", label: "YAML", render: () => <VmYaml vm={vm} /> },
    {
      id: "console",
      label: "Serial console",
      render: whenUp(() => <SerialConsole key={vmi?.metadata.uid} namespace={namespace} name={name} />),
    },
    {
      id: "screen",
      label: "Screen",
      render: whenUp(() => <GuestScreen key={vmi?.metadata.uid} namespace={namespace} name={name} />),
    },
  ];
}

function VmYaml({ vm }: { vm: VirtualMachine }) {
  const { managedFields: _, ...metadata } = vm.metadata as VirtualMachine["metadata"] & { managedFields?: unknown };
  const shown = { ...vm, metadata };
  return (
    <>
      <div class="toolbar">
        <CopyButton label="Copy" text={() => formatYaml(shown)} />
        <CopyButton label="Copy for GitOps" text={() => formatYaml(removeServerFields(vm))} />
      </div>
      <YamlView object={shown} label="The virtual machine as YAML" />
    </>
  );
}
