/** One instance type: size, capacity of the nodes, features, compatible preferences, VMs and YAML. */
import type { Instancetype } from "../api/objects";
import { CapacityCard } from "../catalog/CapacityCard";
import { describeInstancetype } from "../catalog/instancetypes";
import { MemoryBar } from "../catalog/MemoryBar";
import { Facts, ShapeDetail } from "../catalog/ShapeDetail";
import { describeVcpus, TopologyPicture } from "../catalog/TopologyPicture";
import { Traits } from "../catalog/Traits";
import { formatBytes } from "../format";
import type { Parameters } from "../router";

export function InstancetypeDetail({ parameters }: { parameters: Parameters }) {
  return (
    <ShapeDetail
      of="instancetype"
      parameters={parameters}
      overview={(shape: Instancetype) => <Overview shape={shape} />}
    />
  );
}

function Overview({ shape }: { shape: Instancetype }) {
  const { size, traits } = describeInstancetype(shape);
  const { cpu, memory, gpus = [], hostDevices = [] } = shape.spec;
  const topology = size.topology;
  return (
    <>
      <section class="card overview-card">
        <h2>Size</h2>
        <div class="shape-size shape-size-large">
          <TopologyPicture size={size} />
          <span>{describeVcpus(size)}</span>
        </div>
        <div class="shape-size shape-size-large">
          <MemoryBar bytes={size.memory} />
          <span>{size.memory === null ? "Memory set by the VM" : formatBytes(size.memory)}</span>
        </div>
        {traits.length > 0 && (
          <div class="shape-traits">
            <Traits traits={traits} />
          </div>
        )}
      </section>
      <CapacityCard shape={shape} />
      <Facts
        title="CPU"
        facts={[
          [
            "Topology",
            topology
              ? `${topology.sockets} sockets × ${topology.cores} cores × ${topology.threads} threads`
              : "set by the preference",
          ],
          ["Model", cpu?.model],
          ["Placement", cpu?.dedicatedCPUPlacement ? "dedicated CPUs" : "shared CPUs"],
          ["Emulator thread", cpu?.isolateEmulatorThread ? "on its own CPU" : "with the vCPUs"],
          ["NUMA", cpu?.numa ? "layout of the node" : ""],
          ["Maximum sockets", cpu?.maxSockets],
        ]}
      />
      <Facts
        title="Memory and devices"
        facts={[
          ["Hugepages", memory?.hugepages?.pageSize],
          ["Maximum memory", memory?.maxGuest],
          ["Overcommit", memory?.overcommitPercent ? `${memory.overcommitPercent}%` : ""],
          ["GPUs", gpus.map((gpu) => gpu.deviceName).join(", ")],
          ["Host devices", hostDevices.map((device) => device.deviceName).join(", ")],
          ["I/O threads", shape.spec.ioThreadsPolicy as string | undefined],
        ]}
      />
    </>
  );
}
