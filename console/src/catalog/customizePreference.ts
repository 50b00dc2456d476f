/** Read the fields of a preference that the customize form offers, and apply those that changed. */
import type { Preference, PreferenceSpec } from "../api/objects";
import { copyShape } from "./customize";

/** Values of the form; an empty string removes the field. */
export interface PreferenceValues {
  vcpus: string;
  memory: string;
  topology: string;
  diskBus: string;
  cdromBus: string;
  interfaceModel: string;
  firmware: string;
  machineType: string;
  timezone: string;
  storageClass: string;
}

type Section = Record<string, unknown>;

/** Form values that are string fields of the spec, with the section and name of the field. */
const TEXTS: readonly [key: keyof PreferenceValues, section: string, field: string][] = [
  ["topology", "cpu", "preferredCPUTopology"],
  ["diskBus", "devices", "preferredDiskBus"],
  ["cdromBus", "devices", "preferredCdromBus"],
  ["interfaceModel", "devices", "preferredInterfaceModel"],
  ["machineType", "machine", "preferredMachineType"],
  ["storageClass", "volumes", "preferredStorageClassName"],
];

export function readPreference(spec: PreferenceSpec): PreferenceValues {
  const texts = TEXTS.map(([key, section, field]) => [key, (spec[section] as Section | undefined)?.[field] ?? ""]);
  return {
    ...Object.fromEntries(texts),
    vcpus: `${spec.requirements?.cpu?.guest ?? ""}`,
    memory: spec.requirements?.memory?.guest ?? "",
    firmware: readFirmware(spec.firmware as Section | undefined),
    timezone: readTimezone(spec.clock as Section | undefined),
  };
}

function readFirmware(firmware: Section = {}): string {
  const efi = firmware.preferredEfi as { secureBoot?: boolean } | undefined;
  if (efi) return efi.secureBoot === false ? "efi" : "secure-boot";
  if (firmware.preferredUseEfi) return firmware.preferredUseSecureBoot ? "secure-boot" : "efi";
  return firmware.preferredUseBios ? "bios" : "";
}

function readTimezone(clock: Section = {}): string {
  const offset = clock.preferredClockOffset as { timezone?: string; utc?: object } | undefined;
  return offset?.timezone ?? (offset?.utc ? "UTC" : "");
}

export function customizePreference(
  source: Preference,
  kind: string,
  name: string,
  namespace: string | undefined,
  values: PreferenceValues,
): Preference {
  const copy = copyShape(source, kind, name, namespace);
  const before = readPreference(source.spec);
  const changed = (key: keyof PreferenceValues) => values[key] !== before[key];
  for (const [key, section, field] of TEXTS)
    if (changed(key)) setField(copy.spec, section, field, values[key] || undefined);
  if (changed("timezone")) setField(copy.spec, "clock", "preferredClockOffset", buildOffset(values.timezone));
  if (changed("firmware")) applyFirmware(copy.spec, values.firmware);
  if (changed("vcpus") || changed("memory")) applyRequirements(copy.spec, values);
  return copy;
}

function setField(spec: Section, section: string, field: string, value: unknown): void {
  const part = (spec[section] ?? {}) as Section;
  if (value === undefined) delete part[field];
  else part[field] = value;
  spec[section] = part;
}

function buildOffset(timezone: string): object | undefined {
  if (!timezone) return undefined;
  return timezone === "UTC" ? { utc: {} } : { timezone };
}

/** Set this kind of firmware, or none, and remove the others; existing settings of this kind are kept. */
function applyFirmware(spec: PreferenceSpec, firmware: string): void {
  const old = (spec.firmware ?? {}) as Section & { preferredEfi?: { persistent?: boolean } };
  spec.firmware = {};
  if (firmware === "bios") {
    setField(spec, "firmware", "preferredUseBios", true);
    setField(spec, "firmware", "preferredUseBiosSerial", old.preferredUseBiosSerial);
  } else if (firmware) {
    const persistent = old.preferredEfi?.persistent;
    const efi = { secureBoot: firmware === "secure-boot", ...(persistent !== undefined && { persistent }) };
    setField(spec, "firmware", "preferredEfi", efi);
  }
  if (firmware === "secure-boot") setField(spec, "features", "preferredSmm", {}); // it needs system management mode
}

function applyRequirements(spec: PreferenceSpec, { vcpus, memory }: PreferenceValues): void {
  const { cpu: _cpu, memory: _memory, ...others } = spec.requirements ?? {};
  spec.requirements = {
    ...others,
    ...(vcpus && { cpu: { guest: Number(vcpus) } }),
    ...(memory && { memory: { guest: memory } }),
  };
}
