/** A form that creates a new instance type or preference from an existing one; the server checks it while the user types. */
import { useMemo, useState } from "preact/hooks";
import { ApiError, type Cause, request } from "../api/client";
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
import { type Customized, customizeInstancetype, OPEN } from "./customize";
import { customizePreference, readPreference } from "./customizePreference";
import { PREFERENCE_FIELDS, PreferenceFields } from "./PreferenceFields";
import { hasTopology, SIZE_FIELDS, SizeFields } from "./SizeFields";
import { resourceOf, SHAPES, type Shape, shapePath } from "./shapes";

const CLUSTER = "";

export interface FormField {
  key: string;
  label: string;
  /** Field of the object whose errors are shown here. */
  field: string;
  hint?: string;
  isNumber?: boolean;
}

type Values = Record<string, string>;

/** The properties of the components that render form fields. */
export interface FormProps<T extends Shape> {
  source: T;
  values: Values;
  onValue: (key: string, value: string) => void;
  errors: (key: string) => readonly string[] | undefined;
}

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
  const path = collectionPath(resource, namespace);
  const fields = role === "instancetype" ? SIZE_FIELDS : PREFERENCE_FIELDS;
  const wrong = checkValues(fields, values);
  const isWrong = Object.keys(wrong).length > 0;
  const wanted = useMemo(
    () => ({ role, source, kind: resource.kind, name, namespace, values }),
    [role, source, resource, name, namespace, values],
  );
  const { result, problems, isChecking } = useCustomized(path, wanted, chosen, isWrong);
  const errors = distribute(problems, ["metadata.name", ...fields.map(({ field }) => field)]);

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
  const form = {
    values,
    onValue: (key: string, value: string) => setValues({ ...values, [key]: value.trim() }),
    errors: (key: string) => {
      const field = fields.find((one) => one.key === key)?.field ?? "";
      return wrong[key] ? [wrong[key]] : errors.get(field);
    },
  };
  const isBlocked = busy || isChecking || problems.length > 0 || isWrong;
  const actions = (
    <>
      {result && <CopyButton label="Copy as YAML" text={() => formatYaml(result)} />}
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
          <SizeFields {...form} source={source as Instancetype} />
        ) : (
          <PreferenceFields {...form} source={source as Preference} />
        )}
      </form>
      <h3>Changes</h3>
      {result && (
        <Changes
          changes={compareValues(source.spec, result.spec, "spec")}
          none="The spec is the same as that of the source."
        />
      )}
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

interface Wanted {
  role: Role;
  source: Shape;
  kind: string;
  name: string;
  namespace: string;
  values: Values;
}

/** Return the new object, with the problems of its size. */
async function build(wanted: Wanted, chosen: string, signal: AbortSignal): Promise<Customized<Shape>> {
  const { role, source, kind, name, namespace, values } = wanted;
  if (role === "preference") {
    const preference = source as Preference;
    const changed = { ...readPreference(preference.spec), ...values };
    return { result: customizePreference(preference, kind, name, namespace, changed), problems: [] };
  }
  const size = { vcpus: "", memory: "", sockets: "", cores: "", threads: "", ...values };
  return customizeInstancetype(source as Instancetype, { name, namespace }, size, chosen, signal);
}

/** Return what is wrong before the server is asked, by key of the field. */
function checkValues(fields: readonly FormField[], values: Values): Values {
  const wrong: Values = {};
  for (const { key, isNumber } of fields)
    if (isNumber && values[key] && values[key] !== OPEN && !/^[1-9][0-9]{0,8}$/.test(values[key]))
      wrong[key] = "Enter a whole number above 0";
  if (hasTopology(values) && values.vcpus) wrong.vcpus ??= "Enter either vCPUs or a topology";
  return wrong;
}

/** Build the object and ask the server whether it would accept it, after a pause in typing. */
function useCustomized(path: string, wanted: Wanted, chosen: string, isWrong: boolean) {
  const settled = useDebounced(wanted, 300);
  const [last, setLast] = useState<Shape | null>(null); // shown while the form has errors
  const { value, isLoading } = useLoad(`${isWrong}${path}${JSON.stringify(settled)}`, async (signal) => {
    if (isWrong) return null;
    try {
      const made = await build(settled, chosen, signal);
      setLast((old) => made.result ?? old);
      if (!made.result || made.problems.length) return made;
      await request("POST", path, { body: made.result, query: { dryRun: "All" }, signal });
      return made;
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure;
      return { result: null, problems: causesOf(failure) };
    }
  });
  const isChecking = isLoading || settled !== wanted;
  return { result: value?.result ?? last, problems: value?.problems ?? [], isChecking };
}

/** Return the causes of a refusal, with sizes of a request as fields of the new object. */
function causesOf({ causes, message }: ApiError): Cause[] {
  if (!causes.length) return [{ field: "", message }];
  return causes.map(({ field = "", ...cause }) => ({ ...cause, field: field === "memory" ? "spec.memory" : field }));
}

/** Return the messages of problems by the longest field that they belong to; those of no field are under "". */
function distribute(problems: readonly Cause[], fields: readonly string[]): Map<string, string[]> {
  const messages = new Map<string, string[]>();
  const longest = [...fields].sort((one, other) => other.length - one.length);
  for (const { field = "", message = "" } of problems) {
    const owner = longest.find((one) => field.startsWith(one)) ?? "";
    messages.set(owner, [...(messages.get(owner) ?? []), message]);
  }
  return messages;
}
