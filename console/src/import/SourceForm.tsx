/** Choose what to import: files, dropped files, or pasted text. */
import { useState } from "preact/hooks";
import { Button } from "../components/Button";
import { CopyButton } from "../components/CopyButton";
import { Field } from "../components/Field";
import { formatBytes } from "../format";
import type { ImportFile } from "./plan";

const PASTED = "pasted text";
const KINDS = "ns,vm,vmi,dv,pvc,datasources,controllerrevisions,vmclusterinstancetypes,vmcps,vminstancetypes,vmprefs";
const EXPORT = `kubectl get ${KINDS} -A -o yaml > dump.yaml`;

interface SourceFormProps {
  isBusy: boolean;
  onPlan: (files: ImportFile[], halted: boolean) => void;
}

export function SourceForm({ isBusy, onPlan }: SourceFormProps) {
  const [files, setFiles] = useState<File[]>([]);
  const [pasted, setPasted] = useState("");
  const [halted, setHalted] = useState(true);
  const [isOver, setOver] = useState(false);
  const [failure, setFailure] = useState("");

  const add = (more: FileList | null | undefined) => {
    const names = new Set([...(more ?? [])].map((file) => file.name));
    setFiles([...files.filter((file) => !names.has(file.name)), ...(more ?? [])]);
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      const read = await Promise.all(files.map(async (file) => ({ name: file.name, text: await file.text() })));
      setFailure("");
      onPlan(pasted.trim() ? [...read, { name: PASTED, text: pasted }] : read, halted);
    } catch {
      setFailure("A file cannot be read. Choose the files again.");
    }
  };
  return (
    <form class="card import-form" onSubmit={submit}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping files is a second way to use the field in it */}
      <div
        class={isOver ? "import-drop import-drop-over" : "import-drop"}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          add(event.dataTransfer?.files);
        }}
      >
        <Field
          label="Files"
          errors={failure ? [failure] : []}
          hint="YAML or JSON, also Lists, in any order. Choose files or drop them here."
        >
          {(control) => (
            <input
              {...control}
              class="input"
              type="file"
              multiple
              accept=".yaml,.yml,.json"
              onChange={(event) => {
                add(event.currentTarget.files);
                event.currentTarget.value = ""; // the same file can be chosen again
              }}
            />
          )}
        </Field>
        {files.length > 0 && (
          <ul class="import-files">
            {files.map((file) => (
              <li key={file.name}>
                {file.name} <span class="muted">{formatBytes(file.size)}B</span>
                <button
                  type="button"
                  class="icon-button"
                  aria-label={`Remove ${file.name}`}
                  onClick={() => setFiles(files.filter((other) => other !== file))}
                >
                  ✕
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
      <Field label="Or paste objects">
        {(control) => (
          <textarea
            {...control}
            class="input"
            rows={5}
            spellcheck={false}
            value={pasted}
            onInput={(event) => setPasted(event.currentTarget.value)}
          />
        )}
      </Field>
      <label class="check">
        <input type="checkbox" checked={halted} onChange={(event) => setHalted(event.currentTarget.checked)} />
        Do not start VMs: import them with the run strategy Halted
      </label>
      <div class="import-actions">
        <Button look="primary" type="submit" disabled={isBusy || !(files.length || pasted.trim())}>
          Show plan
        </Button>
        <span class="muted">Nothing is changed until you start the import.</span>
      </div>
      <details class="import-help">
        <summary>Export objects from a cluster</summary>
        <pre class="import-command">{EXPORT}</pre>
        <CopyButton label="Copy command" text={() => EXPORT} />
        <p class="muted">The contents of volumes are not part of an export.</p>
      </details>
    </form>
  );
}
