import { useMemo, useState } from "preact/hooks";
import type { ApiError } from "../api/client";
import { formatWaste, type Named, type Need, type Recommendation, type Recommended, recommend } from "../api/previews";
import { Button } from "../components/Button";
import { Dialog } from "../components/Dialog";
import { SelectField, TextField } from "../components/Field";
import { Loading } from "../components/States";
import { parseQuantity } from "../format";
import { useDebounced, useLoad } from "../hooks";

const SHOWN = 8;
const DEFAULTS = { vcpus: "2", memory: "4Gi", gpus: "", like: "", maxWaste: "", dedicated: "", custom: false };

type Values = typeof DEFAULTS;

interface RecommendDialogProps {
  namespace: string;
  /** The preference of the form, whose requirements must be met. */
  preference: Named | null;
  onChoose: (chosen: Recommended) => void;
  onClose: () => void;
}

/** Find instance types that meet minimums or are like a cloud's instance type, as `virtctl recommend` does, and choose one. */
export function RecommendDialog({ namespace, preference, onChoose, onClose }: RecommendDialogProps) {
  const [values, setValues] = useState(DEFAULTS);
  const change = (changed: Partial<Values>) => setValues({ ...values, ...changed });
  const errors = checkValues(values);
  const isValid = Object.values(errors).every((error) => !error);
  const need = useMemo(() => buildNeed(values, preference), [values, preference]);
  const settled = useDebounced(need, 300);
  const key = isValid ? `${namespace}/${JSON.stringify(settled)}` : "";
  const { value, error } = useLoad(key, async (signal) => (key ? recommend(namespace, settled, signal) : null));
  const unknownSize = findMessage(error, "like");
  const any = values.like ? `Empty: that of ${values.like}` : "";
  return (
    <Dialog
      title="Recommend an instance type"
      onClose={onClose}
      actions={<Button onClick={onClose}>Cancel</Button>}
      wide
    >
      <div class="form-row form-row-short">
        <TextField
          label="Minimum vCPUs"
          value={values.vcpus}
          onValue={(vcpus) => change({ vcpus: vcpus.trim() })}
          errors={listOf(errors.vcpus)}
          hint={any || "Empty: any number"}
        />
        <TextField
          label="Minimum memory"
          value={values.memory}
          onValue={(memory) => change({ memory: memory.trim() })}
          errors={listOf(errors.memory)}
          hint={any || "Such as 4Gi; empty: any size"}
        />
        <TextField
          label="GPUs"
          value={values.gpus}
          onValue={(gpus) => change({ gpus: gpus.trim() })}
          errors={listOf(errors.gpus)}
          hint={any || "Empty: none needed"}
        />
        <SelectField
          label="CPUs"
          value={values.dedicated}
          onValue={(dedicated) => change({ dedicated })}
          options={[
            { value: "", label: "Any" },
            { value: "no", label: "Shared" },
            { value: "yes", label: "Dedicated" },
          ]}
        />
        <TextField
          label="Like"
          value={values.like}
          onValue={(like) => change(replaceLike(values, like.trim()))}
          errors={listOf(unknownSize)}
          hint="Such as aws:m5.large"
        />
        <TextField
          label="Maximum waste"
          value={values.maxWaste}
          onValue={(maxWaste) => change({ maxWaste: maxWaste.trim() })}
          errors={listOf(errors.maxWaste)}
          hint="Such as 20%; empty: any"
        />
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={values.custom}
          onChange={(event) => change({ custom: event.currentTarget.checked })}
        />
        Include instance types that leave the size to the VM
      </label>
      {preference && <p class="muted">The requirements of {preference.name} count as needed too.</p>}
      {error && !unknownSize && (
        <p class="field-error" role="alert">
          {error.message}
        </p>
      )}
      {isValid && !error && (value ? <Results found={value} onChoose={onChoose} /> : <Loading label="Searching" />)}
    </Dialog>
  );
}

function checkValues({ vcpus, memory, gpus, maxWaste }: Values) {
  const isWhole = (text: string) => !text || /^[1-9][0-9]{0,8}$/.test(text);
  return {
    vcpus: isWhole(vcpus) ? "" : "Enter a whole number above 0",
    memory: !memory || parseQuantity(memory) > 0 ? "" : "Enter an amount such as 4Gi",
    gpus: isWhole(gpus) ? "" : "Enter a whole number above 0",
    maxWaste: /^(([0-9]{1,2}|100)%?)?$/.test(maxWaste) ? "" : "Enter a percentage from 0% to 100%",
  };
}

function listOf(error: string): readonly string[] {
  return error ? [error] : [];
}

/** Return the message of the server about a field of the request, or an empty text. */
function findMessage(error: ApiError | null, field: string): string {
  return error?.causes.find((cause) => cause.field === field)?.message ?? "";
}

/** Change the cloud's instance type. The first one replaces the minimums, which would take precedence over its size. */
function replaceLike(values: Values, like: string): Partial<Values> {
  return like && !values.like ? { like, vcpus: "", memory: "", gpus: "" } : { like };
}

function buildNeed(values: Values, preference: Named | null): Need {
  const { vcpus, memory, gpus, like, maxWaste, dedicated, custom } = values;
  return {
    ...(vcpus && { cpuMin: Number(vcpus) }),
    ...(memory && { memoryMin: memory }),
    ...(gpus && { gpus: Number(gpus) }),
    ...(like && { like }),
    ...(maxWaste && { maxWaste: Number(maxWaste.replace("%", "")) }),
    ...(dedicated && { dedicated: dedicated === "yes" }),
    ...(preference && { preference }),
    custom,
  };
}

function Results({ found, onChoose }: { found: Recommendation; onChoose: (chosen: Recommended) => void }) {
  const { items, closest } = found;
  if (items.length === 0)
    return (
      <div class="notice notice-warning" role="status">
        <p>No instance type matches. The closest ones are:</p>
        <ul>
          {closest.map(({ kind, name, reasons }) => (
            <li key={`${kind}/${name}`}>
              {name}: {reasons.join("; ")}
            </li>
          ))}
        </ul>
      </div>
    );
  const more = items.length - SHOWN;
  return (
    <>
      <ol class="recommended" aria-label="Recommended instance types">
        {items.slice(0, SHOWN).map((one) => (
          <li key={`${one.kind}/${one.name}`} class="recommended-item">
            <div>
              <strong>{one.name}</strong>{" "}
              <span>
                {one.vcpus} vCPU · {one.memory}
              </span>
              <p class="muted recommended-reason">{one.reason}</p>
            </div>
            <span class="recommended-waste">{formatWaste(one.waste) && `Waste ${formatWaste(one.waste)}`}</span>
            <span class="recommended-use">
              <Button onClick={() => onChoose(one)} aria-label={`Use ${one.name}`}>
                Use
              </Button>
            </span>
          </li>
        ))}
      </ol>
      {more > 0 && <p class="muted">{more} more match, with more waste.</p>}
    </>
  );
}
