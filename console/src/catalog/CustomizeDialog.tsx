/** A form that creates a new instance type or preference from an existing one, checked by the server while typing. */
import { useMemo, useState } from "preact/hooks";
import { ApiError, request } from "../api/client";
import type { Instancetype, Preference } from "../api/objects";
import { collectionPath } from "../api/resources";
import { compareValues } from "../compare";
import { Button } from "../components/Button";
import { Changes } from "../components/Changes";
import { CopyButton } from "../components/CopyButton";
import { Dialog } from "../components/Dialog";
import { SelectField, TextField } from "../components/Field";
import { toast } from "../components/Toasts";
import { useDebounced, useLoad } from "../hooks";
import { navigate } from "../router";
import { useNamespace } from "../settings";
import type { Role } from "../vm/status";
import { formatYaml } from "../yaml";
import { customizeInstancetype, customizePreference, readPreference } from "./customize";
import { resourceOf, SHAPES, type Shape, shapePath } from "./shapes";

const CLUSTER = "";
const TOPOLOGIES = ["sockets", "cores", "threads", "spread", "any"];

interface FormField {
  key: string;
  label: string;
  /** Field of the object whose errors are shown here. */
  field: string;
  hint?: string;
  isNumber?: boolean;
}

const SIZE: readonly FormField[] = [
  { key: "vcpus", label: "vCPUs", field: "spec.cpu.guest", hint: "Distributed as the preference says", isNumber: true },
  { key: "memory", label: "Memory", field: "spec.memory", hint: "Such as 4Gi" },
];
const TOPOLOGY: readonly FormField[] = [
  { key: "sockets", label: "Sockets", field: "spec.cpu.topology", isNumber: true },
  { key: "cores", label: "Cores per socket", field: "spec.cpu.topology.cores", isNumber: true },
  { key: "threads", label: "Threads per core", field: "spec.cpu.topology.threads", isNumber: true },
];
const REQUIREMENTS: readonly FormField[] = [
  { key: "vcpus", label: "Required vCPUs", field: "spec.requirements.cpu", isNumber: true },
  { key: "memory", label: "Required memory", field: "spec.requirements.memory", hint: "Such as 2Gi" },
];

type Values = Record<string, string>;

interface CustomizeDialogProps {
  of: Role;
  source: Shape;
  onClose: () => void;
}

export function CustomizeDialog({ of: role, source, onClose }: CustomizeDialogProps) {
  const chosen = useNamespace() || "default";
  const [name, setName] = useState(`${source.metadata.name}.custom`);
  const [namespace, setNamespace] = useState(source.metadata.namespace ?? chosen);
  const [values, setValues] = useState(() => startValues(role, source));
  const [busy, setBusy] = useState(false);
  const target = { name, ...(namespace && { namespace }) };
  const resource = resourceOf(role, target);
  const result = useMemo(
    () => build(role, source, resource.kind, name, namespace, values),
    [role, source, resource, name, namespace, values],
  );
  const path = collectionPath(resource, namespace);
  const fields = role === "instancetype" ? [...SIZE, ...TOPOLOGY] : REQUIREMENTS;
  const wrong = checkValues(fields, values);
  const { error, isChecking } = useDryRun(path, result);
  const errors = distribute(error, ["metadata.name", ...fields.map(({ field }) => field)]);

  const create = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await request("POST", path, { body: result });
      toast.success(`${name} is created`);
      onClose();
      navigate(shapePath(role, target));
    } catch (failure) {
      toast.error(`${name} cannot be created`, failure);
      setBusy(false);
    }
  };
  const show = ({ key, label, field, hint }: FormField) => (
    <TextField
      key={key}
      label={label}
      value={values[key] ?? ""}
      onValue={(value) => setValues({ ...values, [key]: value.trim() })}
      errors={wrong[key] ? [wrong[key]] : errors.get(field)}
      hint={hint}
    />
  );
  const isBlocked = busy || isChecking || error !== null || Object.keys(wrong).length > 0;
  const actions = (
    <>
      <CopyButton label="Copy as YAML" text={() => formatYaml(result)} />
      <Button onClick={onClose}>Cancel</Button>
      <Button type="submit" form="customize" look="primary" disabled={isBlocked}>
        Create {SHAPES[role].label}
      </Button>
    </>
  );
  const namespaces = [...new Set([chosen, source.metadata.namespace ?? chosen])];
  return (
    <Dialog title={`Customize ${source.metadata.name}`} onClose={onClose} actions={actions} wide>
      <form id="customize" onSubmit={create}>
        <div class="form-row">
          <TextField label="Name" value={name} onValue={setName} errors={errors.get("metadata.name")} required />
          <SelectField
            label="Where"
            value={namespace}
            onValue={setNamespace}
            options={[
              ...namespaces.map((one) => ({ value: one, label: `Namespace ${one}` })),
              { value: CLUSTER, label: "Cluster-wide" },
            ]}
          />
        </div>
        {role === "instancetype" ? (
          <>
            <div class="form-row">{SIZE.map(show)}</div>
            <fieldset class="plain-fieldset">
              <legend>Exact topology, instead of a number of vCPUs</legend>
              <div class="form-row">{TOPOLOGY.map(show)}</div>
            </fieldset>
          </>
        ) : (
          <div class="form-row">
            <SelectField
              label="Preferred CPU topology"
              value={values.topology ?? ""}
              onValue={(topology) => setValues({ ...values, topology })}
              options={[{ value: "", label: "Not set" }, ...TOPOLOGIES.map((one) => ({ value: one, label: one }))]}
            />
            {REQUIREMENTS.map(show)}
          </div>
        )}
      </form>
      <h3>Changes</h3>
      <Changes
        changes={compareValues(source.spec, result.spec, "spec")}
        none="The spec is the same as that of the source."
      />
      {errors.get("")?.map((message) => (
        <p key={message} class="field-error" role="alert">
          {message}
        </p>
      ))}
    </Dialog>
  );
}

function startValues(role: Role, source: Shape): Values {
  return role === "preference" ? { ...readPreference((source as Preference).spec) } : {};
}

function build(role: Role, source: Shape, kind: string, name: string, namespace: string, values: Values): Shape {
  const { vcpus = "", memory = "", sockets = "", cores = "", threads = "", topology = "" } = values;
  if (role === "preference")
    return customizePreference(source as Preference, kind, name, namespace, { topology, vcpus, memory });
  const size = { vcpus, memory, sockets, cores, threads };
  return customizeInstancetype(source as Instancetype, kind, name, namespace, size);
}

/** Return what is wrong before the server is asked, by key of the field. */
function checkValues(fields: readonly FormField[], values: Values): Values {
  const wrong: Values = {};
  for (const { key, isNumber } of fields)
    if (isNumber && values[key] && !/^[1-9][0-9]{0,8}$/.test(values[key])) wrong[key] = "Enter a whole number above 0";
  const hasTopology = TOPOLOGY.some(({ key }) => values[key]);
  if (hasTopology && values.vcpus) wrong.vcpus ??= "Enter either vCPUs or a topology";
  return wrong;
}

/** Ask the server whether it would accept the object, after a pause in typing. */
function useDryRun(path: string, object: Shape): { error: ApiError | null; isChecking: boolean } {
  const body = useDebounced(object, 300);
  const { value, isLoading } = useLoad(`${path}${JSON.stringify(body)}`, async (signal) => {
    try {
      await request("POST", path, { body, query: { dryRun: "All" }, signal });
      return null;
    } catch (failure) {
      if (failure instanceof ApiError) return failure;
      throw failure;
    }
  });
  return { error: value, isChecking: isLoading || body !== object };
}

/** Return the messages of an error by the longest field that they belong to; those of no field are under "". */
function distribute(error: ApiError | null, fields: readonly string[]): Map<string, string[]> {
  const messages = new Map<string, string[]>();
  const causes = error?.causes.length ? error.causes : error ? [{ message: error.message, field: "" }] : [];
  const longest = [...fields].sort((one, other) => other.length - one.length);
  for (const { field = "", message = "" } of causes) {
    const owner = longest.find((one) => field.startsWith(one)) ?? "";
    messages.set(owner, [...(messages.get(owner) ?? []), message]);
  }
  return messages;
}
