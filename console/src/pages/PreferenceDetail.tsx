/** One preference: requirements, what it prefers, compatible instance types, VMs and YAML. */
import type { Preference } from "../api/objects";
import { OsIcon } from "../catalog/OsIcon";
import { describePreference } from "../catalog/preferences";
import { Facts, ShapeDetail } from "../catalog/ShapeDetail";
import type { Parameters } from "../router";
import { yamlLines } from "../yaml";

export function PreferenceDetail({ parameters }: { parameters: Parameters }) {
  return (
    <ShapeDetail of="preference" parameters={parameters} overview={(shape: Preference) => <Overview shape={shape} />} />
  );
}

const SECTIONS = ["cpu", "devices", "firmware", "machine", "volumes", "clock", "features"] as const;

const TITLES: Record<(typeof SECTIONS)[number], string> = {
  cpu: "CPU",
  devices: "Devices",
  firmware: "Firmware",
  machine: "Machine",
  volumes: "Volumes",
  clock: "Clock",
  features: "Features",
};

function Overview({ shape }: { shape: Preference }) {
  const { os, family, architecture } = describePreference(shape);
  const { requirements } = shape.spec;
  const guest = (
    <span class="shape-size">
      <OsIcon os={os} family={family} />
      {os}
    </span>
  );
  return (
    <>
      <Facts
        title="Guest"
        facts={[
          ["OS", guest],
          ["vCPUs", requirements?.cpu?.guest ? `at least ${requirements.cpu.guest}` : "any number"],
          ["Memory", requirements?.memory?.guest ? `at least ${requirements.memory.guest}` : "any amount"],
          ["Architecture", architecture || "any"],
        ]}
      />
      {SECTIONS.filter((name) => shape.spec[name]).map((name) => (
        <Facts key={name} title={TITLES[name]} facts={factsOf(shape.spec[name])} areFields />
      ))}
    </>
  );
}

/** Return the fields of a part of the spec with their values. */
function factsOf(part: unknown): [string, string][] {
  return yamlLines(part)
    .filter((line) => line.value)
    .map(({ path, value }) => [path, value === "{}" ? "on" : value]);
}
