/** Choose the instance type and the preference of a VM, and the size that the instance type leaves open. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { request } from "../api/client";
import type { Instancetype, InstancetypeSpec, Preference } from "../api/objects";
import type { Recommended } from "../api/previews";
import { subresourcePath } from "../api/resources";
import { sizeOf } from "../catalog/instancetypes";
import { describeLifecycle } from "../catalog/Lifecycle";
import { descriptionOf, titleOf } from "../catalog/shapes";
import { Badge } from "../components/Badge";
import { type Option, Picker } from "../components/Picker";
import { parseQuantity } from "../format";
import { useLoad } from "../hooks";
import { type Choice, canInfer, type Form, type FormField, type ImageKind } from "./form";
import { useLargestNode } from "./nodes";
import { RecommendDialog } from "./RecommendDialog";
import { MemorySlider, VcpuSlider } from "./SizeSliders";

export interface Inferred {
  field: string;
  kind: string;
  name: string;
  volume: string;
}

interface ShapeProps {
  form: Form;
  change: (changed: Partial<Form>) => void;
  namespace: string;
  instancetypes: readonly Instancetype[];
  preferences: readonly Preference[];
  open: { cpu: boolean; memory: boolean };
  inferred: readonly Inferred[];
  errors: Partial<Record<FormField, string[]>>;
}

export function Shape(props: ShapeProps) {
  const { form, change, instancetypes, preferences, open, inferred, errors } = props;
  const [isRecommending, setRecommending] = useState(false);
  const node = useLargestNode();
  const preference = resolveChoice(form.preference, "spec.preference", inferred);
  const problems = useIncompatible(props.namespace, preference);
  const instancetype = resolveChoice(form.instancetype, "spec.instancetype", inferred);
  const spec = instancetypes.find((one) => keyOf(one) === instancetype)?.spec ?? UNLIMITED;
  const requirements = preferences.find((one) => keyOf(one) === preference)?.spec.requirements;
  const leastVcpus = requirements?.cpu?.guest ?? 1;
  const leastMemory = requirements?.memory?.guest;
  useEffect(() => {
    if (form.vcpus < leastVcpus) change({ vcpus: leastVcpus });
    if (leastMemory && parseQuantity(form.memory) < parseQuantity(leastMemory)) change({ memory: leastMemory });
  }, [form.vcpus, form.memory, leastVcpus, leastMemory, change]);
  const types = useMemo(
    () => [
      ...specialOptions(form.imageKind, "No instance type: set vCPUs and memory here"),
      ...instancetypes.map((one) => ({
        value: keyOf(one),
        label: one.metadata.name,
        detail: describeInstancetype(one),
        problem: describeLifecycle(one.metadata) || problems.get(keyOf(one)),
      })),
    ],
    [form.imageKind, instancetypes, problems],
  );
  const tastes = useMemo(
    () => [
      ...specialOptions(form.imageKind, "No preference"),
      ...preferences.map((one) => ({
        value: keyOf(one),
        label: one.metadata.name,
        detail: describePreference(one),
        problem: describeLifecycle(one.metadata) || undefined,
      })),
    ],
    [form.imageKind, preferences],
  );
  const [preferenceKind, preferenceName] = preference.split("/", 2);
  const choose = ({ kind, name, custom, vcpus, memory }: Recommended) => {
    change({ instancetype: { is: "chosen", kind, name }, ...(custom && { vcpus, memory }) });
    setRecommending(false);
  };
  return (
    <>
      {isRecommending && (
        <RecommendDialog
          namespace={props.namespace}
          preference={preferenceName ? { kind: preferenceKind ?? "", name: preferenceName } : null}
          onChoose={choose}
          onClose={() => setRecommending(false)}
        />
      )}
      <Picker
        label="Instance type"
        options={types}
        value={writeChoice(form.instancetype)}
        onValue={(value) => change({ instancetype: parseChoice(value) })}
        aside={
          <>
            <InferredBadge field="spec.instancetype" inferred={inferred} />
            <button type="button" class="link-button field-action" onClick={() => setRecommending(true)}>
              Recommend…
            </button>
          </>
        }
        errors={errors.instancetype}
        hint={hintOf(instancetypes, instancetype, "vCPUs, memory and devices")}
      />
      {(open.cpu || open.memory) && (
        <div class="size">
          {open.cpu && (
            <VcpuSlider
              spec={spec}
              value={form.vcpus}
              minimum={leastVcpus}
              node={node}
              onValue={(vcpus) => change({ vcpus })}
              errors={errors.vcpus}
            />
          )}
          {open.memory && (
            <MemorySlider
              spec={spec}
              vcpus={sizeOf(spec).vcpus ?? form.vcpus}
              value={form.memory}
              minimum={leastMemory}
              node={node}
              onValue={(memory) => change({ memory })}
              errors={errors.memory}
            />
          )}
        </div>
      )}
      <Picker
        label="Preference"
        options={tastes}
        value={writeChoice(form.preference)}
        onValue={(value) => change({ preference: parseChoice(value) })}
        aside={<InferredBadge field="spec.preference" inferred={inferred} />}
        errors={errors.preference}
        hint={hintOf(preferences, preference, "Devices and settings that suit a guest operating system")}
      />
    </>
  );
}

const UNLIMITED: InstancetypeSpec = {};
const INFERRED = "inferred";
const NONE = "none";

function specialOptions(kind: ImageKind, none: string): Option[] {
  const inferred = { value: INFERRED, label: "From the image", detail: "inferred" };
  return [...(canInfer(kind) ? [inferred] : []), { value: NONE, label: none }];
}

function InferredBadge({ field, inferred }: { field: string; inferred: readonly Inferred[] }) {
  const found = inferred.find((one) => one.field === field);
  if (!found) return null;
  return (
    <Badge tone="info" title={`The default of volume ${found.volume}`}>
      inferred: {found.name}
    </Badge>
  );
}

/** Return kind/name, as the key of an object in pickers. */
export function keyOf(object: Instancetype | Preference): string {
  return `${object.kind}/${object.metadata.name}`;
}

function writeChoice(choice: Choice): string {
  return choice.is === "chosen" ? `${choice.kind}/${choice.name}` : choice.is;
}

function parseChoice(value: string): Choice {
  if (value === INFERRED || value === NONE) return { is: value };
  const [kind = "", name = ""] = value.split("/", 2);
  return { is: "chosen", kind, name };
}

/** Return the key of the object that is chosen or inferred, or an empty text. */
export function resolveChoice(choice: Choice, field: string, inferred: readonly Inferred[]): string {
  if (choice.is === "chosen") return writeChoice(choice);
  const found = choice.is === "inferred" && inferred.find((one) => one.field === field);
  return found ? `${found.kind}/${found.name}` : "";
}

/** Return the title of the chosen object, or else its description; `otherwise` if there is neither. */
function hintOf(objects: readonly (Instancetype | Preference)[], key: string, otherwise: string): string {
  const found = objects.find((one) => keyOf(one) === key);
  return (found && (titleOf(found) || descriptionOf(found))) || otherwise;
}

/** Return the size of an instance type, for a line in a picker. */
export function describeInstancetype({ spec, metadata }: Instancetype): string {
  const { sockets = 1, cores = 1, threads = 1 } = spec.cpu?.topology ?? {};
  const vcpus = spec.cpu?.guest ?? (spec.cpu?.topology ? sockets * cores * threads : undefined);
  const size = `${vcpus ?? "custom"} vCPU · ${spec.memory?.guest ?? "custom"}`;
  return metadata.namespace ? `${size} · this namespace` : size;
}

/** Return the title of a preference, for a line in a picker. */
export function describePreference({ metadata }: Preference): string {
  const name = metadata.annotations?.["openshift.io/display-name"] ?? "";
  return metadata.namespace ? `${name} · this namespace` : name;
}

interface Compatibility {
  items: { instancetype: { kind: string; name: string }; compatible: boolean; problems: { message: string }[] }[];
}

/** Return why instance types do not fit the preference, by their key. */
function useIncompatible(namespace: string, preference: string): ReadonlyMap<string, string> {
  const { value } = useLoad(`compatible/${namespace}/${preference}`, async (signal) => {
    const [kind, name] = preference.split("/", 2);
    if (!name) return new Map<string, string>();
    const path = subresourcePath(namespace, "check-compatibility");
    const answer = await request<Compatibility>("PUT", path, { body: { preferences: [{ kind, name }] }, signal });
    const refused = answer.items.filter((item) => !item.compatible);
    return new Map(
      refused.map(({ instancetype, problems }) => [
        `${instancetype.kind}/${instancetype.name}`,
        problems.map((problem) => problem.message).join("; "),
      ]),
    );
  });
  return value ?? NOTHING;
}

const NOTHING: ReadonlyMap<string, string> = new Map();
