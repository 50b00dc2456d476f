/** Controls that filter a list by parameters of the address. */
import type { ComponentChildren } from "preact";
import type { Query } from "./query";

interface Choice {
  name: string;
  label: string;
  options: readonly { value: string; label: string }[];
}

interface FilterBarProps {
  query: Query;
  search: string;
  choices: readonly Choice[];
  /** At the end of the line, such as the number of results. */
  children?: ComponentChildren;
}

export function FilterBar({ query, search, choices, children }: FilterBarProps) {
  const isFiltered = ["q", ...choices.map(({ name }) => name)].some((name) => query.get(name));
  const clear = () => query.set(Object.fromEntries([["q", ""], ...choices.map(({ name }) => [name, ""])]));
  return (
    <search class="toolbar">
      <input
        class="input input-search filter-search"
        type="search"
        aria-label={search}
        placeholder={search}
        value={query.get("q")}
        onInput={(event) => query.set({ q: event.currentTarget.value })}
      />
      {choices.map((choice) => (
        <select
          key={choice.name}
          class={`input input-small ${query.get(choice.name) ? "input-set" : ""}`}
          aria-label={choice.label}
          value={query.get(choice.name)}
          onChange={(event) => query.set({ [choice.name]: event.currentTarget.value })}
        >
          {choice.options.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      ))}
      {isFiltered && (
        <button type="button" class="button button-quiet" onClick={clear}>
          Clear filters
        </button>
      )}
      <span class="toolbar-end toolbar-results">{children}</span>
    </search>
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
