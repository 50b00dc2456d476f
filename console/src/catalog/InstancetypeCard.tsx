import { formatBytes } from "../format";
import { Link } from "../router";
import { CompareChoice } from "./CompareTray";
import type { InstancetypeEntry } from "./instancetypes";
import { LifecycleBadge } from "./Lifecycle";
import { MemoryBar } from "./MemoryBar";
import { shapePath } from "./shapes";
import { describeVcpus, TopologyPicture } from "./TopologyPicture";
import { Traits } from "./Traits";

interface InstancetypeCardProps {
  entry: InstancetypeEntry;
  compared: string[];
  onCompare: (refs: string[]) => void;
  /** Why the chosen preference does not accept it; empty if it does. */
  reason: string;
}

export function InstancetypeCard({ entry, compared, onCompare, reason }: InstancetypeCardProps) {
  const { object, ref, name, size, traits } = entry;
  return (
    <li class={`card shape-card ${reason ? "shape-refused" : ""}`}>
      <div class="shape-head">
        <Link to={shapePath("instancetype", object.metadata)} class="row-link shape-name" title={ref}>
          {name}
        </Link>
        <LifecycleBadge metadata={object.metadata} />
        <CompareChoice item={ref} refs={compared} onChange={onCompare} />
      </div>
      {object.metadata.namespace && <span class="muted shape-scope">Namespace {object.metadata.namespace}</span>}
      <div class="shape-size">
        <TopologyPicture size={size} />
        <span>{describeVcpus(size)}</span>
      </div>
      <div class="shape-size">
        <MemoryBar bytes={size.memory} />
        <span>{size.memory === null ? "set by the VM" : formatBytes(size.memory)}</span>
      </div>
      {traits.length > 0 && (
        <div class="shape-traits">
          <Traits traits={traits} />
        </div>
      )}
      {reason && <p class="shape-reason">{reason}</p>}
    </li>
  );
}
