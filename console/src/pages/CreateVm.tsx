/** Create a VM: image, instance type, preference and first user; show the result and all errors while the user types. */
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { useAccess } from "../api/access";
import { request } from "../api/client";
import type { Instancetype, Preference } from "../api/objects";
import {
  CLUSTER_INSTANCETYPES,
  CLUSTER_PREFERENCES,
  collectionPath,
  INSTANCETYPES,
  PREFERENCES,
  VMS,
} from "../api/resources";
import { Button, ButtonLink } from "../components/Button";
import { Field, TextField } from "../components/Field";
import { PageHeader } from "../components/PageHeader";
import { toast } from "../components/Toasts";
import { asProblems, explainVm } from "../create/explain";
import { FitNote } from "../create/FitNote";
import { buildVm, type Choice, type Form, imageOf, newForm, openSizes, placeProblems } from "../create/form";
import { ImageChoice } from "../create/ImageChoice";
import { Preview } from "../create/Preview";
import { type Inferred, keyOf, resolveChoice, Shape } from "../create/Shape";
import { useCollection, useDebounced, useLoad } from "../hooks";
import { navigate, pathTo, useLocation } from "../router";
import { useNamespace } from "../settings";

const DELAY = 300; // milliseconds without typing before the server is asked
const FIRST_CHOICE: Choice = { is: "chosen", kind: CLUSTER_INSTANCETYPES.kind, name: "u1.medium" };

export function CreateVm() {
  const namespace = useNamespace() || "default";
  const { query } = useLocation();
  const [form, setForm] = useState(() => newForm(query));
  const [isBusy, setBusy] = useState(false);
  const [wasSubmitted, setSubmitted] = useState(false);
  const change = useCallback((changed: Partial<Form>) => setForm((old) => ({ ...old, ...changed })), []);
  const { instancetypes, preferences } = useShapes(namespace);
  const mayCreate = useAccess(namespace)("create", "kubevirt.io", "virtualmachines");

  useEffect(() => {
    const hasFirst = instancetypes.some((one) => one.metadata.name === "u1.medium" && !one.metadata.namespace);
    if (hasFirst) setForm((old) => (old.instancetype.is === "none" ? { ...old, instancetype: FIRST_CHOICE } : old));
  }, [instancetypes]);

  const [inferred, setInferred] = useState<readonly Inferred[]>([]);
  const open = useOpenSizes(form.instancetype, instancetypes, inferred);
  const vm = useMemo(() => buildVm(form, namespace, open), [form, namespace, open]);
  const settled = useDebounced(vm, DELAY);
  const hasImage = imageOf(form) !== "";
  const key = hasImage ? JSON.stringify(settled) : "";
  const { value: explanation } = useLoad(key, async (signal) => (key ? explainVm(settled, namespace, signal) : null));
  useEffect(() => setInferred((hasImage && explanation?.inferred) || []), [hasImage, explanation]);
  const problems = [...(explanation?.problems ?? []), ...missingParts(form)];
  const shown = problems.filter((problem) => wasSubmitted || !("isMissing" in problem));
  const errors = placeProblems(shown, open);

  const submit = async (event: Event) => {
    event.preventDefault();
    setSubmitted(true);
    if (missingParts(form).length) return;
    setBusy(true);
    try {
      await request("POST", collectionPath(VMS, namespace), { body: vm });
      toast.success(`${form.name} is created`);
      navigate(pathTo("vms", namespace, form.name));
    } catch (error) {
      const [first] = asProblems(error);
      toast.error(`${form.name} cannot be created`, first?.message ?? error);
      setBusy(false);
    }
  };

  return (
    <>
      <PageHeader title="Create a virtual machine" about={`in namespace ${namespace}`} />
      {!mayCreate && (
        <p class="notice notice-warning" role="alert">
          You may not create virtual machines in namespace {namespace}. You can still choose, compare and copy the YAML.
        </p>
      )}
      <div class="create">
        <form class="card create-form" onSubmit={submit} noValidate>
          <TextField
            label="Name"
            value={form.name}
            onValue={(name) => change({ name })}
            errors={errors.name}
            hint="Lower case letters, digits and hyphens"
            required
          />
          <ImageChoice form={form} change={change} namespace={namespace} errors={errors.image} />
          <Shape
            form={form}
            change={change}
            namespace={namespace}
            instancetypes={instancetypes}
            preferences={preferences}
            open={open}
            inferred={inferred}
            errors={errors}
          />
          <FitNote vm={settled} namespace={namespace} />
          <FirstUser form={form} change={change} errors={errors.cloudInit} />
          <label class="check">
            <input
              type="checkbox"
              checked={form.starts}
              onChange={(event) => change({ starts: event.currentTarget.checked })}
            />
            Start the virtual machine after it is created
          </label>
          <OtherProblems messages={errors.other} isError />
          <OtherProblems messages={explanation?.warnings.map((warning) => warning.message ?? "")} />
          <div class="dialog-actions">
            <ButtonLink to="/vms">Cancel</ButtonLink>
            <Button type="submit" look="primary" disabled={isBusy || !mayCreate}>
              Create
            </Button>
          </div>
        </form>
        <Preview vm={vm} form={form} namespace={namespace} open={open} explanation={hasImage ? explanation : null} />
      </div>
    </>
  );
}

/** Return all instance types and preferences that VMs of the namespace can use, with their kinds. */
function useShapes(namespace: string): { instancetypes: Instancetype[]; preferences: Preference[] } {
  const clusterTypes = useCollection(CLUSTER_INSTANCETYPES).value;
  const types = useCollection(INSTANCETYPES, namespace).value;
  const clusterPreferences = useCollection(CLUSTER_PREFERENCES).value;
  const preferences = useCollection(PREFERENCES, namespace).value;
  return useMemo(
    () => ({
      instancetypes: [
        ...(types ?? []).map((one) => ({ ...one, kind: INSTANCETYPES.kind })),
        ...(clusterTypes ?? []).map((one) => ({ ...one, kind: CLUSTER_INSTANCETYPES.kind })),
      ],
      preferences: [
        ...(preferences ?? []).map((one) => ({ ...one, kind: PREFERENCES.kind })),
        ...(clusterPreferences ?? []).map((one) => ({ ...one, kind: CLUSTER_PREFERENCES.kind })),
      ],
    }),
    [types, clusterTypes, preferences, clusterPreferences],
  );
}

/** Return which sizes the instance type that is chosen or inferred leaves to the VM. */
function useOpenSizes(choice: Choice, instancetypes: readonly Instancetype[], inferred: readonly Inferred[]) {
  return useMemo(() => {
    const key = resolveChoice(choice, "spec.instancetype", inferred);
    return openSizes(
      instancetypes.find((one) => keyOf(one) === key),
      choice,
    );
  }, [choice, instancetypes, inferred]);
}

/** Return what the user has not filled in yet; it is only shown after an attempt to create the VM. */
function missingParts(form: Form): { field: string; message: string; isMissing: true }[] {
  const missing: { field: string; message: string; isMissing: true }[] = [];
  if (!form.name.trim()) missing.push({ field: "metadata.name", message: "Enter a name.", isMissing: true });
  if (!imageOf(form)) {
    missing.push({ field: "spec.template.spec.volumes", message: "Choose what to boot from.", isMissing: true });
  }
  return missing;
}

interface FirstUserProps {
  form: Form;
  change: (changed: Partial<Form>) => void;
  errors: readonly string[] | undefined;
}

function FirstUser({ form, change, errors }: FirstUserProps) {
  return (
    <fieldset class="group">
      <legend>First user (cloud-init)</legend>
      <TextField
        label="User"
        value={form.user}
        onValue={(user) => change({ user })}
        hint="Empty: the default user of the image"
      />
      <Field label="SSH public keys" errors={errors} hint="One per line">
        {(control) => (
          <textarea
            {...control}
            class="input"
            value={form.sshKey}
            spellcheck={false}
            onInput={(event) => change({ sshKey: event.currentTarget.value })}
          />
        )}
      </Field>
    </fieldset>
  );
}

function OtherProblems({
  messages = [],
  isError = false,
}: {
  messages?: readonly string[] | undefined;
  isError?: boolean;
}) {
  if (messages.length === 0) return null;
  return (
    <ul class={isError ? "notice notice-bad" : "notice notice-warning"} role={isError ? "alert" : "status"}>
      {messages.map((message) => (
        <li key={message}>{message}</li>
      ))}
    </ul>
  );
}
