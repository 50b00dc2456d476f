/** A form that creates a new instance type or preference from an existing one, checked by the server while typing. */
import type { ComponentChildren } from "preact";
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
import { customizeInstancetype, customizePreference, readPreference } from "./customize";
import { resourceOf, SHAPES, type Shape, shapePath } from "./shapes";

const CLUSTER = "";
const TOPOLOGIES = ["sockets", "cores", "threads", "spread", "any"];

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
  const { error, isLoading } = useDryRun(path, result);

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
  const field = (label: string, key: string, fields: string[], hint?: string) => (
    <TextField
      label={label}
      value={values[key] ?? ""}
      onValue={(value) => setValues({ ...values, [key]: value })}
      errors={errorsOf(error, fields)}
      hint={hint}
    />
  );
  const actions = (
    <>
      <CopyButton label="Copy as YAML" text={() => formatYaml(result)} />
      <Button onClick={onClose}>Cancel</Button>
      <Button type="submit" form="customize" look="primary" disabled={busy || isLoading || error !== null}>
        Create {SHAPES[role].label}
      </Button>
    </>
  );
  const shown = ["metadata", ...OWN_FIELDS[role]];
  const others = error
    ? error.causes.length
      ? error.causes
          .filter((cause) => !shown.some((one) => cause.field?.startsWith(one)))
          .map((cause) => cause.message ?? error.message)
      : [error.message]
    : [];
  return (
    <Dialog title={`Customize ${source.metadata.name}`} onClose={onClose} actions={actions} wide>
      <form id="customize" class="customize" onSubmit={create}>
        <Row>
          <TextField label="Name" value={name} onValue={setName} errors={errorsOf(error, ["metadata.name"])} required />
          <SelectField
            label="Where"
            value={namespace}
            onValue={setNamespace}
            options={[
              ...[...new Set([chosen, source.metadata.namespace ?? chosen])].map((one) => ({
                value: one,
                label: `Namespace ${one}`,
              })),
              { value: CLUSTER, label: "Cluster-wide" },
            ]}
          />
        </Row>
        {role === "instancetype" ? (
          <>
            <Row>
              {field("vCPUs", "vcpus", ["spec.cpu.guest"], "Distributed as the preference says")}
              {field("Memory", "memory", ["spec.memory"], "Such as 4Gi")}
            </Row>
            <fieldset class="plain-fieldset">
              <legend>Exact topology, instead of a number of vCPUs</legend>
              <Row>
                {field("Sockets", "sockets", ["spec.cpu.topology"])}
                {field("Cores per socket", "cores", [])}
                {field("Threads per core", "threads", [])}
              </Row>
            </fieldset>
          </>
        ) : (
          <Row>
            <SelectField
              label="Preferred CPU topology"
              value={values.topology ?? ""}
              onValue={(topology) => setValues({ ...values, topology })}
              options={[{ value: "", label: "Not set" }, ...TOPOLOGIES.map((one) => ({ value: one, label: one }))]}
            />
            {field("Required vCPUs", "vcpus", ["spec.requirements.cpu"])}
            {field("Required memory", "memory", ["spec.requirements.memory"], "Such as 2Gi")}
          </Row>
        )}
      </form>
      <h3>Changes</h3>
      <Changes
        changes={compareValues(source.spec, result.spec, "spec")}
        none="The spec is the same as that of the source."
      />
      {others.map((message) => (
        <p key={message} class="field-error" role="alert">
          {message}
        </p>
      ))}
    </Dialog>
  );
}

const OWN_FIELDS: Record<Role, string[]> = {
  instancetype: ["spec.cpu.guest", "spec.memory", "spec.cpu.topology"],
  preference: ["spec.requirements.cpu", "spec.requirements.memory"],
};

type Values = Record<string, string>;

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

/** Ask the server whether it would accept the object; one request at a time, after a pause in typing. */
function useDryRun(path: string, object: Shape): { error: ApiError | null; isLoading: boolean } {
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
  return { error: value, isLoading: isLoading || body !== object };
}

function errorsOf(error: ApiError | null, fields: readonly string[]): string[] {
  const isOwn = ({ field = "" }: Cause) => fields.some((one) => field.startsWith(one));
  return error?.causes.filter(isOwn).map((cause) => cause.message ?? error.message) ?? [];
}

function Row({ children }: { children: ComponentChildren }) {
  return <div class="form-row">{children}</div>;
}
