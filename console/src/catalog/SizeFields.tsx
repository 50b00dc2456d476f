/** The size of a new instance type: a number of vCPUs or an exact topology, and memory; both can be left to each VM. */
import type { Instancetype } from "../api/objects";
import { TextField } from "../components/Field";
import type { FormField, FormProps } from "./CustomizeDialog";
import { OPEN } from "./customize";

const SIZE: readonly FormField[] = [
  { key: "vcpus", label: "vCPUs", field: "spec.cpu.guest", hint: "The preference sets their topology", isNumber: true },
  { key: "memory", label: "Memory", field: "spec.memory", hint: "Such as 4Gi" },
];
const TOPOLOGY: readonly FormField[] = [
  { key: "sockets", label: "Sockets", field: "spec.cpu.topology", isNumber: true },
  { key: "cores", label: "Cores per socket", field: "spec.cpu.topology.cores", isNumber: true },
  { key: "threads", label: "Threads per core", field: "spec.cpu.topology.threads", isNumber: true },
];
export const SIZE_FIELDS = [...SIZE, ...TOPOLOGY];

/** Return true if the form has an exact topology. */
export function hasTopology(values: Record<string, string>): boolean {
  return TOPOLOGY.some(({ key }) => values[key]);
}

export function SizeFields({ source, values, onValue, errors }: FormProps<Instancetype>) {
  const { cpu, memory } = source.spec;
  const current: Record<string, string | number | undefined> = {
    vcpus: cpu?.guest,
    memory: memory?.guest,
    ...cpu?.topology,
  };
  const show = ({ key, label, hint }: FormField, isOpenable: boolean) => {
    const isOpen = values[key] === OPEN;
    return (
      <TextField
        key={key}
        label={label}
        value={isOpen ? "" : (values[key] ?? "")}
        onValue={(value) => onValue(key, value)}
        errors={errors(key)}
        hint={isOpen ? "Each VM sets it" : hint}
        placeholder={isOpen ? OPEN : `${current[key] ?? ""}`}
        disabled={isOpen}
        aside={
          isOpenable && <OpenChoice label={label} isOpen={isOpen} onOpen={(open) => onValue(key, open ? OPEN : "")} />
        }
      />
    );
  };
  return (
    <>
      <div class="form-row form-row-short">{SIZE.map((field) => show(field, true))}</div>
      <fieldset class="plain-fieldset">
        <legend>Exact topology, instead of a number of vCPUs</legend>
        <div class="form-row">{TOPOLOGY.map((field) => show(field, false))}</div>
      </fieldset>
    </>
  );
}

interface OpenChoiceProps {
  label: string;
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
}

/** The check box that leaves a size to each VM. */
function OpenChoice({ label, isOpen, onOpen }: OpenChoiceProps) {
  return (
    <label class="check-label open-choice" title="Each VM sets it">
      <input
        type="checkbox"
        aria-label={`Leave open: ${label}`}
        checked={isOpen}
        onChange={(event) => onOpen(event.currentTarget.checked)}
      />
      Open
    </label>
  );
}
