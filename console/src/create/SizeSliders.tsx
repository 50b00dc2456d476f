/** Sliders for vCPUs and memory, where the instance type leaves them to the VM. */
import { useEffect, useId } from "preact/hooks";
import type { InstancetypeSpec } from "../api/objects";
import { formatBytes, parseQuantity } from "../format";
import { clamp, closest, listMemory, listVcpus } from "./limits";
import type { NodeSize } from "./nodes";

const MI = 2 ** 20;
const MEMORY = [
  256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536, 98304, 131072, 196608,
  262144, 393216, 524288, 786432, 1048576,
];
const VCPUS = [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256];
const MOST = { vcpus: 64, memory: 131072 * MI }; // the ends of the sliders if the nodes are not known

interface SliderProps {
  label: string;
  steps: readonly number[];
  /** Returns the allowed value that is closest. */
  restrict: (value: number) => number;
  value: number;
  format: (value: number) => string;
  onValue: (value: number) => void;
  errors: readonly string[] | undefined;
  /** True if the slider ends at the size of the largest node. */
  endsAtNode: boolean;
}

function Slider({ label, steps, restrict, value, format, onValue, errors = [], endsAtNode }: SliderProps) {
  const id = useId();
  const allowed = restrict(value);
  useEffect(() => {
    if (allowed !== value) onValue(allowed);
  }, [allowed, value, onValue]);
  const index = Math.max(
    0,
    steps.findLastIndex((step) => step <= value),
  );
  return (
    <div class="field">
      <div class="field-label">
        <label for={id}>{label}</label>
        <output for={id}>{format(value)}</output>
      </div>
      <input
        id={id}
        type="range"
        min={0}
        max={steps.length - 1}
        value={index}
        aria-valuetext={format(value)}
        aria-describedby={`${id}-note`}
        onInput={(event) => onValue(steps[Number(event.currentTarget.value)] ?? value)}
      />
      <div id={`${id}-note`} class="field-note">
        {errors.map((error) => (
          <p key={error} class="field-error">
            {error}
          </p>
        ))}
        {errors.length === 0 && (
          <p class="field-hint">
            {format(steps[0] ?? 0)} to {format(steps.at(-1) ?? 0)}
            {endsAtNode && ", limited by the largest node"}
          </p>
        )}
      </div>
    </div>
  );
}

/** Return the steps between both ends; if there are none, the first step above `least`, or else `least`. */
function stepsBetween(least: number, steps: readonly number[], most: number): readonly number[] {
  const found = steps.filter((step) => step >= least && step <= most);
  return found.length ? found : [steps.find((step) => step >= least) ?? least];
}

interface VcpuProps {
  /** The instance type, whose limits define the steps. */
  spec: InstancetypeSpec;
  value: number;
  minimum: number;
  /** The largest node, or null if it is not known. */
  node: NodeSize | null;
  onValue: (value: number) => void;
  errors: readonly string[] | undefined;
}

/** A slider from the vCPUs that the preference requires to the CPUs of the largest node. */
export function VcpuSlider({ spec, value, minimum, node, onValue, errors }: VcpuProps) {
  const usual = node ? VCPUS : VCPUS.filter((step) => step <= MOST.vcpus);
  const allowed = listVcpus(spec, usual);
  const steps = stepsBetween(minimum, allowed, node?.vcpus ?? Number.POSITIVE_INFINITY);
  return (
    <Slider
      label="vCPUs"
      steps={steps}
      restrict={(count) => (spec.cpu?.limits ? closest(steps, count) : count)}
      value={value}
      format={(count) => `${count} vCPU`}
      onValue={onValue}
      errors={errors}
      endsAtNode={steps.at(-1) !== allowed.at(-1)}
    />
  );
}

interface MemoryProps {
  spec: InstancetypeSpec;
  vcpus: number;
  value: string;
  minimum: string | undefined;
  node: NodeSize | null;
  onValue: (value: string) => void;
  errors: readonly string[] | undefined;
}

export function MemorySlider({ spec, vcpus, value, minimum, node, onValue, errors }: MemoryProps) {
  const least = (parseQuantity(minimum) || 0) / MI;
  const usual = MEMORY.map((step) => step * MI).filter((size) => node || size <= MOST.memory);
  const allowed = listMemory(spec, vcpus, usual).map((size) => size / MI);
  const steps = stepsBetween(least, allowed, node ? node.memory / MI : Number.POSITIVE_INFINITY);
  const format = (step: number) => formatBytes(step * MI);
  const limits = spec.memory?.limits;
  return (
    <Slider
      label="Memory"
      steps={steps}
      restrict={(size) => (limits?.step ? closest(steps, size) : limits ? clamp(steps, size) : size)}
      value={parseQuantity(value) / MI}
      format={format}
      onValue={(step) => onValue(writeMemory(step))}
      errors={errors}
      endsAtNode={steps.at(-1) !== allowed.at(-1)}
    />
  );
}

/** Return a size in Mi as a quantity, or in bytes if it is not a whole number of Mi. */
function writeMemory(step: number): string {
  if (!Number.isInteger(step)) return `${step * MI}`;
  return step % 1024 ? `${step}Mi` : `${step / 1024}Gi`;
}
