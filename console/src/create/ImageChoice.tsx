/** Choose what the VM boots from. */
import { ApiError, request } from "../api/client";
import type { KubernetesObject, List, PersistentVolumeClaim } from "../api/objects";
import { CLAIMS, collectionPath, DATA_SOURCES, DATA_VOLUMES, type Resource } from "../api/resources";
import { acceptsUploads } from "../api/session";
import { SelectField, TextField } from "../components/Field";
import { type Option, Picker } from "../components/Picker";
import { useLoad } from "../hooks";
import { canInfer, type Form, type ImageKind } from "./form";
import { UploadForm } from "./UploadForm";

interface ImageChoiceProps {
  form: Form;
  change: (changed: Partial<Form>) => void;
  namespace: string;
  errors: readonly string[] | undefined;
}

const KINDS: readonly { value: ImageKind; label: string; hint: string }[] = [
  {
    value: "containerDisk",
    label: "Container disk",
    hint: "An image from a registry; changes are lost when the VM stops",
  },
  { value: "dataSource", label: "DataSource", hint: "A new disk, cloned from a golden image" },
  { value: "claim", label: "Persistent volume claim", hint: "An existing disk" },
  { value: "dataVolume", label: "DataVolume", hint: "An existing disk" },
  { value: "upload", label: "Upload", hint: "A disk image from this computer" },
];

export function ImageChoice({ form, change, namespace, errors }: ImageChoiceProps) {
  const setImage = (image: string) => change({ images: { ...form.images, [form.imageKind]: image } });
  const chooseKind = (kind: ImageKind) => {
    const inferred = { is: "inferred" } as const;
    const none = { is: "none" } as const;
    if (!canInfer(kind)) {
      change({
        imageKind: kind,
        ...(form.instancetype.is === "inferred" && { instancetype: none }),
        ...(form.preference.is === "inferred" && { preference: none }),
      });
    } else if (canInfer(form.imageKind)) change({ imageKind: kind });
    else change({ imageKind: kind, instancetype: inferred, preference: inferred });
  };
  return (
    <>
      <SelectField
        label="Boot from"
        value={form.imageKind}
        onValue={(kind) => chooseKind(kind as ImageKind)}
        options={KINDS.filter(({ value }) => value !== "upload" || acceptsUploads())}
        hint={KINDS.find(({ value }) => value === form.imageKind)?.hint}
      />
      <Source form={form} change={change} namespace={namespace} setImage={setImage} errors={errors} />
    </>
  );
}

interface SourceProps extends ImageChoiceProps {
  setImage: (image: string) => void;
}

function Source({ form, change, namespace, setImage, errors }: SourceProps) {
  const image = form.images[form.imageKind];
  switch (form.imageKind) {
    case "containerDisk":
      return (
        <TextField
          label="Image"
          value={image}
          onValue={setImage}
          errors={errors}
          hint="Registry, repository and tag of a container disk"
        />
      );
    case "claim":
      return (
        <ObjectPicker
          label="Claim"
          of={CLAIMS}
          namespace={namespace}
          value={image}
          onValue={setImage}
          errors={errors}
          describe={describeClaim}
        />
      );
    case "dataVolume":
      return (
        <ObjectPicker
          label="DataVolume"
          of={DATA_VOLUMES}
          namespace={namespace}
          value={image}
          onValue={setImage}
          errors={errors}
          describe={(volume) => volume.status?.phase ?? ""}
        />
      );
    case "dataSource":
      return (
        <>
          <ObjectPicker
            label="DataSource"
            of={DATA_SOURCES}
            namespace={namespace}
            everywhere
            value={image}
            onValue={setImage}
            errors={errors}
            describe={() => ""}
          />
          <TextField
            label="Disk size"
            value={form.diskSize}
            onValue={(diskSize) => change({ diskSize })}
            placeholder="as large as the source"
            hint="Such as 20Gi; empty for the size of the source"
          />
        </>
      );
    case "upload":
      return <UploadForm namespace={namespace} done={image} onDone={setImage} errors={errors} />;
  }
}

interface ObjectPickerProps<T extends KubernetesObject> {
  label: string;
  of: Resource<T>;
  namespace: string;
  /** Offer the objects of all namespaces that the user may list; then the value is namespace/name. */
  everywhere?: boolean;
  value: string;
  onValue: (value: string) => void;
  errors: readonly string[] | undefined;
  describe: (object: T) => string;
}

function ObjectPicker<T extends KubernetesObject>(props: ObjectPickerProps<T>) {
  const { label, of, namespace, everywhere = false, value, onValue, errors, describe } = props;
  const {
    value: objects,
    error,
    isLoading,
  } = useLoad(collectionPath(of, everywhere ? "" : namespace), (signal) =>
    listObjects(of, namespace, everywhere, signal),
  );
  const options: Option[] = (objects ?? []).map((object) => {
    const { namespace: own = "", name } = object.metadata;
    const key = everywhere ? `${own}/${name}` : name;
    return { value: key, label: key, detail: describe(object) };
  });
  const none = isLoading ? "Loading…" : `There are none${everywhere ? "" : ` in namespace ${namespace}`}.`;
  const hint = error ? error.message : options.length === 0 ? none : "";
  return (
    <Picker
      label={label}
      options={options}
      value={value}
      onValue={onValue}
      errors={errors}
      hint={hint}
      placeholder={`Choose a ${label === "Claim" ? "claim" : label}`}
    />
  );
}

/** List the objects of the namespace, or of all namespaces if the user may. */
async function listObjects<T extends KubernetesObject>(
  of: Resource<T>,
  namespace: string,
  everywhere: boolean,
  signal: AbortSignal,
): Promise<T[]> {
  try {
    const path = collectionPath(of, everywhere ? "" : namespace);
    return (await request<List<T>>("GET", path, { signal })).items;
  } catch (error) {
    if (!everywhere || !(error instanceof ApiError) || error.code !== 403) throw error;
    return listObjects(of, namespace, false, signal);
  }
}

function describeClaim(claim: PersistentVolumeClaim): string {
  const size = claim.status?.capacity?.storage ?? claim.spec.resources?.requests?.storage ?? "";
  return [size, claim.status?.phase].filter(Boolean).join(" · ");
}
