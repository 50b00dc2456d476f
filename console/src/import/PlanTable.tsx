/** The objects of an import: what the plan does with each, the fields that differ or are dropped, and the results. */
import type { FieldChange } from "../api/previews";
import { describeValue } from "../compare";
import { Badge, type Tone } from "../components/Badge";
import { Link, pathTo } from "../router";
import { type Outcome, type PlannedObject, pathOf } from "./plan";

type Result = PlannedObject["result"] | Outcome["result"];

/** The label of each result, and its name in the summary. */
const LABELS: Record<Result, { label: string; tone: Tone; total: string }> = {
  create: { label: "Create", tone: "info", total: "to create" },
  unchanged: { label: "Exists", tone: "neutral", total: "existing" },
  differs: { label: "Differs", tone: "warning", total: "different" },
  skipped: { label: "Skipped", tone: "neutral", total: "skipped" },
  created: { label: "Created", tone: "good", total: "created" },
  updated: { label: "Updated", tone: "good", total: "updated" },
  kept: { label: "Kept", tone: "warning", total: "kept with other values" },
  failed: { label: "Failed", tone: "bad", total: "failed" },
};

interface PlanTableProps {
  items: readonly PlannedObject[];
  outcomes: ReadonlyMap<string, Outcome>;
}

export function PlanTable({ items, outcomes }: PlanTableProps) {
  return (
    <section class="card import-plan" aria-label="Objects">
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col" class="import-object">
              Object
            </th>
            <th scope="col" class="import-result">
              Result
            </th>
            <th scope="col">Details</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <PlanRow key={`${item.apiVersion} ${pathOf(item)}`} item={item} outcome={outcomes.get(pathOf(item))} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function PlanRow({ item, outcome }: { item: PlannedObject; outcome: Outcome | undefined }) {
  const { label, tone } = LABELS[outcome?.result ?? item.result];
  const { changes = [], dropped = [], namespace = "", name, kind } = item;
  const message = outcome?.message || item.message;
  const isVm = kind === "VirtualMachine" && outcome && outcome.result !== "failed";
  return (
    <tr>
      <th scope="row">
        {isVm ? <Link to={pathTo("vms", namespace, name)}>{name}</Link> : name}
        <span class="row-about">
          {kind}
          {namespace && ` in ${namespace}`}
        </span>
      </th>
      <td>
        <Badge tone={tone}>{label}</Badge>
      </td>
      <td>
        {message && <p class={outcome?.result === "failed" ? "field-error" : "import-reason"}>{message}</p>}
        {changes.length > 0 && (
          <details>
            <summary>
              {countOf(changes.length, "field")} {item.result === "differs" ? "with other values" : "changed"}
            </summary>
            <ChangeList changes={changes} isStored={item.result === "differs"} />
          </details>
        )}
        {dropped.length > 0 && (
          <details>
            <summary>{countOf(dropped.length, "field")} dropped</summary>
            <dl class="import-fields">
              {dropped.map(({ field, reason }) => (
                <div key={field}>
                  <dt class="mono">{field}</dt>
                  <dd>{reason}</dd>
                </div>
              ))}
            </dl>
          </details>
        )}
      </td>
    </tr>
  );
}

function ChangeList({ changes, isStored }: { changes: readonly FieldChange[]; isStored: boolean }) {
  return (
    <dl class="import-fields">
      {changes.map(({ field, then, now }) => (
        <div key={field}>
          <dt class="mono">{field}</dt>
          <dd>
            {describeValue(then) || "not set"} in the file, {describeValue(now) || "not set"}{" "}
            {isStored ? "on the server" : "in the imported object"}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Return how many objects have each result, such as `3 created, 1 failed`. */
export function countResults(items: readonly PlannedObject[], outcomes: ReadonlyMap<string, Outcome>): string {
  const counts = new Map<string, number>();
  for (const item of items) {
    const { total } = LABELS[outcomes.get(pathOf(item))?.result ?? item.result];
    counts.set(total, (counts.get(total) ?? 0) + 1);
  }
  return [...counts].map(([total, count]) => `${count} ${total}`).join(", ");
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
