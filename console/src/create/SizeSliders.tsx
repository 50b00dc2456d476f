/** Sliders for vCPUs and memory, where the instance type leaves them to the VM. */
import { useId } from "preact/hooks";
import { formatBytes, parseQuantity } from "../format";

const MI = 2 ** 20;
const MEMORY = [
  256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152, 65536, 98304, 131072,
];
const VCPUS = [1, 2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64];

interface SliderProps {
  label: string;
  steps: readonly number[];
  value: number;
  format: (value: number) => string;
  onValue: (value: number) => void;
  errors: readonly string[] | undefined;
}

function Slider({ label, steps, value, format, onValue, errors = [] }: SliderProps) {
  const id = useId();
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
          </p>
        )}
      </div>
    </div>
  );
}

interface VcpuProps {
  value: number;
  minimum: number;
  onValue: (value: number) => void;
  errors: readonly string[] | undefined;
}

/** The smallest value is what the preference requires. */
export function VcpuSlider({ value, minimum, onValue, errors }: VcpuProps) {
  const steps = VCPUS.filter((step) => step >= minimum);
  return (
    <Slider
      label="vCPUs"
      steps={steps}
      value={value}
      format={(count) => `${count} vCPU`}
      onValue={onValue}
      errors={errors}
    />
  );
}

interface MemoryProps {
  value: string;
  minimum: string | undefined;
  onValue: (value: string) => void;
  errors: readonly string[] | undefined;
}

export function MemorySlider({ value, minimum, onValue, errors }: MemoryProps) {
  const least = (parseQuantity(minimum) || 0) / MI;
  const steps = MEMORY.filter((step) => step >= least);
  const format = (step: number) => formatBytes(step * MI);
  return (
    <Slider
      label="Memory"
      steps={steps}
      value={parseQuantity(value) / MI}
      format={format}
      onValue={(step) => onValue(step % 1024 ? `${step}Mi` : `${step / 1024}Gi`)}
      errors={errors}
    />
  );
}
