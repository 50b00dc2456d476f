/** Import VMs, instance types and preferences of another cluster: choose files, see the plan, and carry it out. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { describeError } from "../api/client";
import { Button, ButtonLink } from "../components/Button";
import { PageHeader } from "../components/PageHeader";
import { EmptyState, Loading } from "../components/States";
import { countResults, PlanTable } from "../import/PlanTable";
import {
  type ImportFile,
  type ImportPlan,
  type ImportProblem,
  type Outcome,
  pathOf,
  planImport,
  runImport,
} from "../import/plan";
import { SourceForm } from "../import/SourceForm";
import { useNamespace } from "../settings";

type Phase = "choosing" | "planning" | "planned" | "running" | "done";

export function Import() {
  const namespace = useNamespace();
  const [phase, setPhase] = useState<Phase>("choosing");
  const [plan, setPlan] = useState<ImportPlan | null>(null);
  const [failure, setFailure] = useState("");
  const abort = useRef(new AbortController());
  useEffect(() => () => abort.current.abort(), []);

  const makePlan = async (files: ImportFile[], halted: boolean) => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    setPhase("planning");
    setPlan(null);
    setFailure("");
    try {
      const made = await planImport({ namespace, files, halted }, signal);
      setPlan(made);
      setPhase(made.problems.length ? "choosing" : "planned");
    } catch (error) {
      if (signal.aborted) return;
      setFailure(describeError(error));
      setPhase("choosing");
    }
  };
  const isChoosing = phase === "choosing" || phase === "planning";
  return (
    <>
      <PageHeader
        title="Import"
        about="VMs, instance types and preferences of another cluster"
        actions={<ButtonLink to="/vms">Virtual machines</ButtonLink>}
      />
      {/* The form keeps the chosen files while the plan is shown. */}
      <div hidden={!isChoosing}>
        <SourceForm isBusy={phase === "planning"} onPlan={makePlan} />
      </div>
      {failure && (
        <p class="notice notice-bad" role="alert">
          {failure}
        </p>
      )}
      {phase === "planning" && <Loading label="Comparing with the server" />}
      {phase === "choosing" && plan && <Problems problems={plan.problems} />}
      {plan && !isChoosing && (
        <Plan plan={plan} phase={phase} onPhase={setPhase} onFailure={setFailure} key={plan.source.files.length} />
      )}
    </>
  );
}

function Problems({ problems }: { problems: readonly ImportProblem[] }) {
  return (
    <section class="notice notice-bad" role="alert" aria-label="Problems">
      <h2>The files cannot be imported</h2>
      <ul class="import-problems">
        {problems.map(({ file, line, column, message }) => (
          <li key={`${file}:${line}:${column}:${message}`}>
            <span class="mono">{[file, line, column].filter(Boolean).join(":")}</span> {message}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface PlanProps {
  plan: ImportPlan;
  phase: Phase;
  onPhase: (phase: Phase) => void;
  onFailure: (message: string) => void;
}

function Plan({ plan, phase, onPhase, onFailure }: PlanProps) {
  const [overwrite, setOverwrite] = useState(false);
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const progressId = useId();
  const { items } = plan;
  const differing = items.filter((item) => item.result === "differs").length;
  const count = items.filter((item) => item.result === "create").length + (overwrite ? differing : 0);

  const run = async () => {
    onPhase("running");
    try {
      await runImport(plan, overwrite, (item, outcome) =>
        setOutcomes((known) => new Map(known).set(pathOf(item), outcome)),
      );
    } catch (error) {
      onFailure(`Owner references were not set: ${describeError(error)}. Import the files again to set them.`);
    }
    onPhase("done");
  };
  if (items.length === 0)
    return (
      <EmptyState title="The files contain no objects">
        <Button onClick={() => onPhase("choosing")}>Choose other files</Button>
      </EmptyState>
    );
  return (
    <>
      <div class="toolbar import-toolbar">
        <span role="status">{countResults(items, outcomes)}</span>
        {phase === "running" && (
          <>
            <label for={progressId}>Importing</label>
            <progress id={progressId} max={items.length} value={outcomes.size} />
          </>
        )}
        {phase === "planned" && differing > 0 && (
          <label class="check-label">
            <input
              type="checkbox"
              checked={overwrite}
              onChange={(event) => setOverwrite(event.currentTarget.checked)}
            />
            Update objects that differ
          </label>
        )}
        <span class="toolbar-end import-actions">
          {phase !== "running" && (
            <Button onClick={() => onPhase("choosing")}>{phase === "done" ? "Import more" : "Back"}</Button>
          )}
          {phase === "planned" && (
            <Button look="primary" disabled={count === 0} onClick={run}>
              {count === 0 ? "Nothing to import" : `Import ${count} ${count === 1 ? "object" : "objects"}`}
            </Button>
          )}
        </span>
      </div>
      <PlanTable items={items} outcomes={outcomes} />
    </>
  );
}
