/** The state of a VM: size, instance type and preference, guest, disks and conditions. */
import type { ComponentChildren } from "preact";
import type { Condition, Topology, VirtualMachine, VirtualMachineInstance, Volume } from "../api/objects";
import { MemoryBar } from "../catalog/MemoryBar";
import { shapePath } from "../catalog/shapes";
import { TopologyPicture } from "../catalog/TopologyPicture";
import { Badge } from "../components/Badge";
import { formatAge, parseQuantity } from "../format";
import { Link } from "../router";
import { type Catalog, type Drift, findDrift } from "./catalog";
import { kindOf, ROLES, type Role, statusOf } from "./status";

interface VmOverviewProps {
  vm: VirtualMachine;
  vmi: VirtualMachineInstance | undefined;
  catalog: Catalog | null;
}

export function VmOverview({ vm, vmi, catalog }: VmOverviewProps) {
  const { vcpus, memory, topology } = vm.status?.effective ?? {};
  const addresses = (vmi?.status?.interfaces ?? []).map((one) => one.ipAddress).filter(Boolean);
  return (
    <div class="overview">
      <Card title="Size and shape">
        <Fact label="vCPUs">
          <span class="drawn">
            {vcpus ?? "not known yet"}
            {vcpus && <TopologyPicture size={{ vcpus, topology: parseTopology(topology), memory: null }} />}
          </span>
        </Fact>
        <Fact label="Topology">{topology ? describeTopology(topology) : ""}</Fact>
        <Fact label="Memory">
          <span class="drawn">
            {memory ?? "not known yet"}
            {memory && <MemoryBar bytes={parseQuantity(memory)} />}
          </span>
        </Fact>
        {ROLES.map(({ role, label }) => (
          <Fact key={role} label={label}>
            <Shape vm={vm} role={role} drift={findDrift(vm, role, catalog)} />
          </Fact>
        ))}
      </Card>
      <Card title="Guest">
        <Fact label="Status">{statusOf(vm)}</Fact>
        <Fact label="Run strategy">{vm.spec.runStrategy ?? (vm.spec.running ? "Always" : "Halted")}</Fact>
        <Fact label="Node">{vmi?.status?.nodeName ?? ""}</Fact>
        <Fact label="Addresses">{addresses.join(", ")}</Fact>
        <Fact label="Operating system">{vmi?.status?.guestOSInfo?.prettyName ?? ""}</Fact>
        <Fact label="Created">{formatAge(vm.metadata.creationTimestamp)} ago</Fact>
      </Card>
      <Card title="Volumes">
        {(vm.spec.template.spec.volumes ?? []).map((volume) => (
          <Fact key={volume.name} label={volume.name}>
            {describeVolume(volume)}
          </Fact>
        ))}
        {!vm.spec.template.spec.volumes?.length && <p class="muted">This VM has no volumes.</p>}
      </Card>
      <Card title="Conditions">
        <Conditions conditions={[...(vm.status?.conditions ?? []), ...onlyOf(vmi, vm)]} />
      </Card>
    </div>
  );
}

/** Return the conditions of the instance that the VM does not have. */
function onlyOf(vmi: VirtualMachineInstance | undefined, vm: VirtualMachine): Condition[] {
  const known = new Set(vm.status?.conditions?.map((condition) => condition.type));
  return (vmi?.status?.conditions ?? []).filter((condition) => !known.has(condition.type));
}

function Card({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <section class="card overview-card" aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Fact({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <dl class="fact">
      <dt>{label}</dt>
      <dd>{children === "" ? <span class="muted">none</span> : children}</dd>
    </dl>
  );
}

const DRIFT: Record<Drift, { tone: "info" | "warning"; text: string } | null> = {
  current: null,
  unknown: null,
  changed: { tone: "info", text: "newer version available" },
  gone: { tone: "warning", text: "deleted; the VM keeps its copy" },
};

function Shape({ vm, role, drift }: { vm: VirtualMachine; role: Role; drift: Drift }) {
  const name = vm.spec[role]?.name;
  const note = DRIFT[drift];
  if (!name) return <span class="muted">none</span>;
  return (
    <>
      <Link to={pathOf(vm, role)}>{name}</Link> {note && <Badge tone={note.tone}>{note.text}</Badge>}
    </>
  );
}

/** Return the address of the page about the VM's instance type or preference. */
function pathOf(vm: VirtualMachine, role: Role): string {
  const { name = "", ...matcher } = vm.spec[role] ?? {};
  const isCluster = kindOf(role, matcher).includes("Cluster");
  return shapePath(role, isCluster ? { name } : { name, namespace: vm.metadata.namespace ?? "" });
}

function parseTopology(topology: string | undefined): Required<Topology> | null {
  const [sockets = 1, cores = 1, threads = 1] = (topology ?? "").split("x").map(Number);
  return topology ? { sockets, cores, threads } : null;
}

/** Return a topology such as 2x1x2 as text. */
function describeTopology(topology: string): string {
  const [sockets, cores, threads] = topology.split("x").map(Number);
  const parts: [number | undefined, string][] = [
    [sockets, "socket"],
    [cores, "core"],
    [threads, "thread"],
  ];
  return parts.map(([count, word]) => `${count} ${word}${count === 1 ? "" : "s"}`).join(" × ");
}

function describeVolume(volume: Volume): string {
  if (volume.persistentVolumeClaim) return `claim ${volume.persistentVolumeClaim.claimName}`;
  if (volume.dataVolume) return `DataVolume ${volume.dataVolume.name}`;
  if (volume.containerDisk) return `container disk ${volume.containerDisk.image}`;
  const source = Object.keys(volume).find((key) => key !== "name");
  return source ?? "";
}

function Conditions({ conditions }: { conditions: Condition[] }) {
  if (conditions.length === 0) return <p class="muted">No conditions yet.</p>;
  return (
    <ul class="conditions">
      {conditions.map(({ type, status, reason, message, lastTransitionTime }) => (
        <li key={type}>
          <Badge tone={status === "True" ? "good" : "neutral"}>
            {type}: {status}
          </Badge>{" "}
          <span class="muted">{formatAge(lastTransitionTime)}</span>
          {(reason || message) && <p>{[reason, message].filter(Boolean).join(": ")}</p>}
        </li>
      ))}
    </ul>
  );
}
