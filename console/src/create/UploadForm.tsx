/** Upload a disk image into a new DataVolume, from which the VM boots. */
import { useId, useRef, useState } from "preact/hooks";
import { ApiError, describeError } from "../api/client";
import { Button } from "../components/Button";
import { Field, TextField } from "../components/Field";
import { formatBytes } from "../format";
import { uploadImage } from "./upload";

interface UploadFormProps {
  namespace: string;
  /** Name of the DataVolume that was filled, or empty. */
  done: string;
  onDone: (name: string) => void;
  errors: readonly string[] | undefined;
}

type State = { is: "idle"; error: string } | { is: "sending"; part: number; abort: AbortController };

export function UploadForm({ namespace, done, onDone, errors = [] }: UploadFormProps) {
  const [file, setFile] = useState<File | null>(null);
  const [name, setName] = useState("");
  const [size, setSize] = useState("");
  const [state, setState] = useState<State>({ is: "idle", error: "" });
  const input = useRef<HTMLInputElement>(null);
  const progressId = useId();

  const choose = (chosen: File | undefined) => {
    if (!chosen) return;
    setFile(chosen);
    setName(name || suggestName(chosen.name));
    setSize(size || suggestSize(chosen.size));
  };
  const start = async () => {
    if (!file) return setState({ is: "idle", error: "Choose a file." });
    const abort = new AbortController();
    setState({ is: "sending", part: 0, abort });
    try {
      const onProgress = (part: number) => setState({ is: "sending", part, abort });
      await uploadImage({ namespace, name, size }, file, onProgress, abort.signal);
      setState({ is: "idle", error: "" });
      onDone(name);
    } catch (error) {
      if (abort.signal.aborted) return setState({ is: "idle", error: "The upload was cancelled." });
      const causes = error instanceof ApiError ? error.causes.map((cause) => cause.message).join("; ") : "";
      setState({ is: "idle", error: causes || describeError(error) });
    }
  };

  if (done) {
    return (
      <p class="notice notice-good" role="status">
        Uploaded to the DataVolume {done}.{" "}
        <button type="button" class="link-button" onClick={() => onDone("")}>
          Upload another image
        </button>
      </p>
    );
  }
  const failure = state.is === "idle" ? state.error : "";
  const isSending = state.is === "sending";
  return (
    <div class="upload">
      <Field
        label="Disk image"
        errors={failure ? [failure] : file ? [] : errors}
        hint={file ? `${file.name}, ${formatBytes(file.size)}` : "raw or qcow2, optionally compressed with gzip or xz"}
      >
        {(control) => (
          <input
            {...control}
            ref={input}
            class="input"
            type="file"
            disabled={isSending}
            onChange={(event) => choose(event.currentTarget.files?.[0])}
          />
        )}
      </Field>
      <div class="columns">
        <TextField label="Name of the new DataVolume" value={name} onValue={setName} />
        <TextField label="Disk size" value={size} onValue={setSize} hint="At least the image's virtual size" />
      </div>
      {isSending ? (
        <div class="upload-progress">
          <label for={progressId}>{state.part < 1 ? "Uploading" : "Processing the image"}</label>
          <progress id={progressId} max={1} value={state.part} />
          <span>{Math.floor(state.part * 100)} %</span>
          <Button onClick={() => state.abort.abort()}>Cancel</Button>
        </div>
      ) : (
        <Button disabled={!file || !name || !size} onClick={start}>
          Upload
        </Button>
      )}
    </div>
  );
}

function suggestName(file: string): string {
  const name = file.toLowerCase().replace(/(\.(qcow2|img|raw|iso|gz|xz))+$/, "");
  return name
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 50);
}

/** Return a size with room for a sparse image. */
function suggestSize(bytes: number): string {
  return `${Math.max(1, Math.ceil((bytes * 2) / 2 ** 30))}Gi`;
}
