/** Form fields for the requirements and preferred values of a new preference. */
import type { Preference } from "../api/objects";
import { SelectField, TextField } from "../components/Field";
import type { FormField, FormProps } from "./CustomizeDialog";

const BUSES = ["virtio", "sata", "scsi", "usb"];

interface PreferenceField extends FormField {
  /** Values to choose from; a field without choices is a text field. */
  choices?: readonly string[];
}

const REQUIRED: readonly PreferenceField[] = [
  { key: "vcpus", label: "vCPUs", field: "spec.requirements.cpu", isNumber: true, hint: "At least this many" },
  { key: "memory", label: "Memory", field: "spec.requirements.memory", hint: "At least, such as 2Gi" },
];

const PREFERRED: readonly PreferenceField[] = [
  {
    key: "topology",
    label: "CPU topology",
    field: "spec.cpu",
    choices: ["sockets", "cores", "threads", "spread", "any"],
  },
  { key: "firmware", label: "Firmware", field: "spec.firmware", choices: ["bios", "efi", "secure-boot"] },
  { key: "diskBus", label: "Disk bus", field: "spec.devices.preferredDiskBus", choices: BUSES },
  {
    key: "cdromBus",
    label: "CD-ROM bus",
    field: "spec.devices.preferredCdromBus",
    choices: BUSES.filter((bus) => bus !== "virtio"),
  },
  {
    key: "interfaceModel",
    label: "Interface model",
    field: "spec.devices.preferredInterfaceModel",
    choices: ["virtio", "e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139"],
  },
  { key: "machineType", label: "Machine type", field: "spec.machine", hint: "Such as q35" },
  { key: "timezone", label: "Time zone", field: "spec.clock", hint: "UTC or Europe/Oslo" },
  { key: "storageClass", label: "Storage class", field: "spec.volumes", hint: "For volumes without one" },
];

export const PREFERENCE_FIELDS = [...REQUIRED, ...PREFERRED];

export function PreferenceFields({ values, onValue, errors }: FormProps<Preference>) {
  const show = ({ key, label, hint, choices }: PreferenceField) => {
    const value = values[key] ?? "";
    const props = { key, label, hint, value, onValue: (text: string) => onValue(key, text), errors: errors(key) };
    return choices ? <SelectField {...props} options={optionsOf(choices, value)} /> : <TextField {...props} />;
  };
  return (
    <>
      <fieldset class="plain-fieldset">
        <legend>Required of the instance type</legend>
        <div class="form-row">{REQUIRED.map(show)}</div>
      </fieldset>
      <fieldset class="plain-fieldset">
        <legend>Preferred values, which a VM can override</legend>
        <div class="form-row">{PREFERRED.map(show)}</div>
      </fieldset>
    </>
  );
}

/** Return the options: unset, the choices, and the current value if it is not one of them. */
function optionsOf(choices: readonly string[], value: string): { value: string; label: string }[] {
  const all = new Set(["", ...choices, value]);
  return [...all].map((one) => ({ value: one, label: one || "Not set" }));
}
