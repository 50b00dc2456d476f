/** Tabs with arrow keys, as in the ARIA authoring practices. The tab is part of the address. */
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

export interface Tab {
  id: string;
  label: string;
  render: () => ComponentChildren;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  selected: string;
  onSelect: (id: string) => void;
}

export function Tabs({ label, tabs, selected, onSelect }: TabsProps) {
  const prefix = useId();
  const current = tabs.find((tab) => tab.id === selected) ?? tabs[0];
  const list = useRef<HTMLDivElement>(null);
  const currentId = current?.id ?? "";
  useEffect(() => showTab(list.current, document.getElementById(`${prefix}-${currentId}`)), [prefix, currentId]);
  const move = (event: KeyboardEvent, index: number) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const next = step && tabs[(index + step + tabs.length) % tabs.length];
    if (!next) return;
    event.preventDefault();
    onSelect(next.id);
    document.getElementById(`${prefix}-${next.id}`)?.focus();
  };
  return (
    <>
      <div ref={list} class="tabs" role="tablist" aria-label={label}>
        {tabs.map((tab, index) => (
          <button
            key={tab.id}
            id={`${prefix}-${tab.id}`}
            type="button"
            role="tab"
            class="tab"
            aria-selected={tab === current}
            aria-controls={`${prefix}-panel`}
            tabIndex={tab === current ? 0 : -1}
            onClick={() => onSelect(tab.id)}
            onKeyDown={(event) => move(event, index)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div id={`${prefix}-panel`} class="tab-panel" role="tabpanel" aria-labelledby={`${prefix}-${current?.id}`}>
        {current?.render()}
      </div>
    </>
  );
}

/** Scroll the row of tabs, and nothing else, until the tab is in view. */
function showTab(list: HTMLElement | null, tab: HTMLElement | null): void {
  if (!list || !tab) return;
  const left = tab.offsetLeft - list.offsetLeft;
  const hidden = left + tab.offsetWidth - list.clientWidth;
  list.scrollLeft = Math.min(Math.max(list.scrollLeft, hidden), left);
}
