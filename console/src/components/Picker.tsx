/** A combobox with search: type to filter, arrows to move, Enter to choose, Escape to close. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Field } from "./Field";

export interface Option {
  value: string;
  label: string;
  /** Shown at the end of the line, such as the size. */
  detail?: string;
  /** Why the choice will not work; it can still be chosen. */
  problem?: string | undefined;
}

interface PickerProps {
  label: string;
  options: readonly Option[];
  value: string;
  onValue: (value: string) => void;
  hint?: ComponentChildren;
  errors?: readonly string[] | undefined;
  aside?: ComponentChildren;
  placeholder?: string;
}

const SHOWN = 100;

export function Picker({ label, options, value, onValue, hint, errors, aside, placeholder }: PickerProps) {
  const [search, setSearch] = useState<string | null>(null); // null: closed
  const [active, setActive] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const selected = options.find((option) => option.value === value);
  const found = useMemo(() => filterOptions(options, search ?? ""), [options, search]);
  const isOpen = search !== null;

  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);

  const open = () => {
    setSearch("");
    setActive(
      Math.max(
        0,
        options.slice(0, SHOWN).findIndex((option) => option.value === value),
      ),
    );
  };
  const choose = (option: Option | undefined) => {
    if (option) onValue(option.value);
    setSearch(null);
  };
  const type = (text: string) => {
    setSearch(text);
    setActive(0);
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      if (isOpen) setActive(Math.min(Math.max(active + step, 0), found.length - 1));
      else open();
    } else if (event.key === "Enter" && isOpen) {
      event.preventDefault();
      choose(found[active]);
    } else if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      setSearch(null);
    }
  };

  return (
    <Field label={label} hint={hint} errors={errors} aside={aside}>
      {(control) => (
        <div class="picker">
          <input
            {...control}
            class="input"
            role="combobox"
            aria-expanded={isOpen}
            aria-controls={`${control.id}-list`}
            aria-autocomplete="list"
            aria-activedescendant={isOpen && found[active] ? `${control.id}-${active}` : undefined}
            autocomplete="off"
            spellcheck={false}
            placeholder={isOpen ? selected?.label : placeholder}
            value={search ?? selected?.label ?? value.split("/").at(-1)} // the options may still be loading
            onClick={() => isOpen || open()}
            onInput={(event) => type(event.currentTarget.value)}
            onKeyDown={press}
            onBlur={() => setSearch(null)}
          />
          <div
            id={`${control.id}-list`}
            ref={list}
            class="picker-list"
            role="listbox"
            aria-label={label}
            hidden={!isOpen}
          >
            {isOpen &&
              found.map((option, index) => (
                // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the input, as the combobox pattern asks
                // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
                <div
                  key={option.value}
                  id={`${control.id}-${index}`}
                  role="option"
                  aria-selected={option.value === value}
                  class={`picker-option ${index === active ? "picker-active" : ""}`}
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={() => choose(option)}
                >
                  <span class="picker-line">
                    <span>{option.label}</span>
                    <span class="muted">{option.detail}</span>
                  </span>
                  {option.problem && <span class="picker-problem">{option.problem}</span>}
                </div>
              ))}
            {isOpen && found.length === 0 && (
              <div class="picker-option muted" role="option" aria-selected={false} aria-disabled="true" tabIndex={-1}>
                Nothing matches
              </div>
            )}
          </div>
        </div>
      )}
    </Field>
  );
}

function filterOptions(options: readonly Option[], search: string): readonly Option[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = options.filter(({ label, detail = "" }) => {
    const text = `${label} ${detail}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return found.slice(0, SHOWN);
}
