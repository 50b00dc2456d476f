import { Button, ButtonLink } from "../components/Button";
import type { Role } from "../vm/status";
import { COMPARED, comparePath, SHAPES } from "./shapes";

/** The objects chosen for a comparison, and the link to it. */
export function CompareTray({
  of: role,
  refs,
  onChange,
}: {
  of: Role;
  refs: string[];
  onChange: (refs: string[]) => void;
}) {
  if (refs.length === 0) return null;
  return (
    <section class="compare-tray card" aria-label="Comparison">
      <span class="compare-names">
        {refs.map((ref) => (
          <button
            type="button"
            key={ref}
            class="chip"
            aria-label={`Remove ${ref} from the comparison`}
            onClick={() => onChange(refs.filter((one) => one !== ref))}
          >
            {ref} <span aria-hidden="true">✕</span>
          </button>
        ))}
      </span>
      <span class="muted when-wide">
        {refs.length} of {COMPARED} {SHAPES[role].labels}
      </span>
      <Button look="quiet" onClick={() => onChange([])}>
        Clear
      </Button>
      {refs.length > 1 ? (
        <ButtonLink to={comparePath(role, refs)} look="primary">
          Compare
        </ButtonLink>
      ) : (
        <Button disabled title="Choose at least two">
          Compare
        </Button>
      )}
    </section>
  );
}

interface CompareChoiceProps {
  item: string;
  refs: string[];
  onChange: (refs: string[]) => void;
}

/** The check box that adds an object to the comparison. */
export function CompareChoice({ item, refs, onChange }: CompareChoiceProps) {
  const isChosen = refs.includes(item);
  const isFull = !isChosen && refs.length >= COMPARED;
  return (
    <label class="compare-choice" title={isFull ? `At most ${COMPARED} can be compared` : undefined}>
      <input
        type="checkbox"
        aria-label={`Compare ${item}`}
        checked={isChosen}
        disabled={isFull}
        onChange={() => onChange(isChosen ? refs.filter((one) => one !== item) : [...refs, item])}
      />
    </label>
  );
}
