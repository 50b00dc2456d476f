/** Controls that filter and sort a list by parameters of its URL; on narrow screens, a button shows them. */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import type { Query } from "./query";

export interface Choice {
  name: string;
  label: string;
  options: readonly { value: string; label: string }[];
}

interface FilterBarProps {
  query: Query;
  search: string;
  choices: readonly Choice[];
  /** The order of the list; it is kept when filters are cleared. */
  sort?: Choice | null;
  /** At the end of the line, such as the number of results. */
  children?: ComponentChildren;
}

export function FilterBar({ query, search, choices, sort, children }: FilterBarProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const active = choices.filter(({ name }) => query.get(name)).length;
  const clear = () => query.set(Object.fromEntries([["q", ""], ...choices.map(({ name }) => [name, ""])]));
  return (
    <search class="toolbar filter-bar">
      <input
        class="input input-search filter-search"
        type="search"
        aria-label={search}
        placeholder={search}
        value={query.get("q")}
        onInput={(event) => query.set({ q: event.currentTarget.value })}
      />
      <button
        type="button"
        class="button filter-toggle"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setOpen(!isOpen)}
      >
        Filters{active > 0 && ` (${active})`}
      </button>
      <div id={id} class={isOpen ? "filter-choices filter-choices-open" : "filter-choices"}>
        {choices.map((choice) => (
          <ChoiceSelect key={choice.name} query={query} choice={choice} isSet={query.get(choice.name) !== ""} />
        ))}
        {sort && <ChoiceSelect query={query} choice={sort} isSet={false} />}
        {(active > 0 || query.get("q")) && (
          <button type="button" class="button button-quiet" onClick={clear}>
            Clear filters
          </button>
        )}
      </div>
      <span class="toolbar-end toolbar-results">{children}</span>
    </search>
  );
}

function ChoiceSelect({ query, choice, isSet }: { query: Query; choice: Choice; isSet: boolean }) {
  const { name, label, options } = choice;
  return (
    <select
      class={`input input-small ${isSet ? "input-set" : ""}`}
      aria-label={label}
      value={query.get(name)}
      onChange={(event) => query.set({ [name]: event.currentTarget.value })}
    >
      {options.map(({ value, label: text }) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}

/** Return options with a first one that filters nothing. */
export function optionsOf(none: string, values: Iterable<string>, label = (value: string) => value) {
  return [{ value: "", label: none }, ...[...values].map((value) => ({ value, label: label(value) }))];
}

export const SCOPE_CHOICE: Choice = {
  name: "scope",
  label: "Scope",
  options: [
    { value: "", label: "Any scope" },
    { value: "cluster", label: "Cluster-wide" },
    { value: "namespace", label: "Of a namespace" },
  ],
};
