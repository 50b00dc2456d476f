/** The preview of the form: the resulting VM with each field coloured by its origin, and the YAML to apply. */
import { useState } from "preact/hooks";
import type { VirtualMachine } from "../api/objects";
import { CopyButton } from "../components/CopyButton";
import { Tabs } from "../components/Tabs";
import { YamlView } from "../components/YamlView";
import { formatYaml, type YamlLine } from "../yaml";
import { kubectlCommand, virtctlCommand } from "./commands";
import type { Explanation, Origin } from "./explain";
import { type Form, imageOf } from "./form";

interface PreviewProps {
  vm: VirtualMachine;
  form: Form;
  namespace: string;
  open: { cpu: boolean; memory: boolean };
  explanation: Explanation | null;
}

export function Preview({ vm, form, namespace, open, explanation }: PreviewProps) {
  const [tab, setTab] = useState("result");
  const waiting = imageOf(form) ? "Computing the result…" : "Choose what to boot from to see the result.";
  const tabs = [
    { id: "result", label: "Resulting VM", render: () => <Result explanation={explanation} waiting={waiting} /> },
    { id: "yaml", label: "YAML to apply", render: () => <YamlView object={vm} label="YAML to apply" /> },
  ];
  return (
    <aside class="preview" aria-label="Preview">
      <Tabs label="Preview" tabs={tabs} selected={tab} onSelect={setTab} />
      <div class="toolbar">
        <CopyButton label="Copy YAML" text={() => formatYaml(vm)} />
        <CopyButton label="Copy kubectl" text={() => kubectlCommand(vm)} />
        <CopyButton label="Copy virtctl" text={() => virtctlCommand(form, namespace, open)} />
      </div>
    </aside>
  );
}

const LEGEND: readonly { origin: Origin; label: string }[] = [
  { origin: "user", label: "you" },
  { origin: "instancetype", label: "instance type" },
  { origin: "preference", label: "preference" },
  { origin: "default", label: "default" },
];

/** An empty object has no fields, and so no origins. */
const EMPTY: { origin: Origin; source?: string } = { origin: "default" };

function Result({ explanation, waiting }: { explanation: Explanation | null; waiting: string }) {
  const vm = explanation?.virtualMachine;
  const origins = new Map(explanation?.origins.map((one) => [one.field, one]));
  const mark = ({ path, value }: YamlLine) => {
    const found = origins.get(path) ?? (value === "{}" ? EMPTY : undefined);
    return found ? { class: `origin-${found.origin}`, title: describe(found.origin, found.source) } : null;
  };
  return (
    <>
      <p class="legend">
        {LEGEND.map(({ origin, label }) => (
          <span key={origin} class={`legend-item origin-${origin}`}>
            {label}
          </span>
        ))}
      </p>
      {vm ? (
        <YamlView object={vm.spec} label="The resulting VM" root="spec" mark={mark} />
      ) : (
        <p class="notice" role="status">
          {explanation ? "The VM cannot be expanded: see the errors in the form." : waiting}
        </p>
      )}
    </>
  );
}

function describe(origin: Origin, source: string | undefined): string {
  if (origin === "user") return "set in this form";
  if (origin === "default") return "default";
  return `from the ${origin === "instancetype" ? "instance type" : origin} ${source ?? ""}`;
}
