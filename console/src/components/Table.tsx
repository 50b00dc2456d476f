/** A sortable table that renders only the rows in view, so that thousands of rows stay smooth. */
import { Component, type ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatSort, parseSort, type Sort, type SortKey, sortItems } from "../sorting";

export interface Column<T> {
  id: string;
  title: string;
  render: (row: T) => ComponentChildren;
  /** The value that rows are sorted by; columns without it cannot be sorted. */
  sortBy?: (row: T) => SortKey;
  /** CSS width, such as 8rem; the other columns share the rest. */
  width?: string;
  /** Width on screens below 720 px, if it differs. */
  narrowWidth?: string;
  /** True if the title is only for screen readers on screens below 720 px. */
  hidesTitle?: boolean;
  align?: "end";
  /** Hide the column on narrow screens: below 1100 px (1) or below 720 px (2). */
  optional?: 1 | 2;
}

interface TableProps<T> {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
  /** Initial order of the rows, in the format of sorting.ts. */
  sorted: string;
  /** Called with the new order, in the same format, when the user sorts by a column. */
  onSorted?: (sorted: string) => void;
  /** Shown instead of rows if there are none. */
  empty: ComponentChildren;
}

const ROW = 41; // pixels; the style sheet sets the same height
const OVERSCAN = 8;

export function Table<T>({ label, columns, rows, rowKey, sorted, onSorted, empty }: TableProps<T>) {
  const [sort, setSort] = useState(() => parseSort(sorted));
  const changeSort = (changed: Sort) => {
    setSort(changed);
    onSorted?.(formatSort(changed));
  };
  const ordered = useMemo(() => {
    const sortBy = columns.find((column) => column.id === sort.column)?.sortBy;
    return sortBy ? sortItems(rows, sortBy, sort.descending) : rows;
  }, [rows, columns, sort]);
  const { region, first, count } = useVisibleRows(ordered.length);
  const visible = ordered.slice(first, first + count);
  const after = ordered.length - first - visible.length;

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
    <section class="table-region" ref={region} tabIndex={0} aria-label={label}>
      <table class="table" aria-label={label} aria-rowcount={ordered.length + 1}>
        <colgroup>
          {columns.map((column) => (
            <col key={column.id} class={optionalClass(column)} style={widthsOf(column)} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map((column) => (
              <HeaderCell key={column.id} column={column} sort={sort} onSort={changeSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {first > 0 && <Spacer height={first * ROW} />}
          {visible.map((row, index) => (
            <Row key={rowKey(row)} row={row} columns={columns} index={first + index + 2} />
          ))}
          {after > 0 && <Spacer height={after * ROW} />}
        </tbody>
      </table>
      {ordered.length === 0 && empty}
    </section>
  );
}

interface RowProps<T> {
  row: T;
  columns: readonly Column<T>[];
  index: number;
}

/** A row, which is only rendered again if it changes: scrolling renders the rows that come into view. */
class Row<T> extends Component<RowProps<T>> {
  override shouldComponentUpdate({ row, columns, index }: RowProps<T>): boolean {
    return row !== this.props.row || columns !== this.props.columns || index !== this.props.index;
  }

  override render({ row, columns, index }: RowProps<T>) {
    return (
      <tr aria-rowindex={index}>
        {columns.map((column) => (
          <td key={column.id} class={cellClass(column)}>
            {column.render(row)}
          </td>
        ))}
      </tr>
    );
  }
}

interface HeaderProps<T> {
  column: Column<T>;
  sort: Sort;
  onSort: (sort: Sort) => void;
}

function HeaderCell<T>({ column, sort, onSort }: HeaderProps<T>) {
  const isSorted = sort.column === column.id;
  const direction = isSorted ? (sort.descending ? "descending" : "ascending") : "none";
  const toggle = () => onSort({ column: column.id, descending: isSorted && !sort.descending });
  return (
    <th scope="col" class={cellClass(column)} aria-sort={column.sortBy ? direction : undefined}>
      {column.sortBy ? (
        <button type="button" class="table-sort" onClick={toggle}>
          <span class={column.hidesTitle ? "hidden-when-narrow" : ""}>{column.title}</span>
          <span aria-hidden="true">{isSorted ? (sort.descending ? " ↓" : " ↑") : ""}</span>
        </button>
      ) : (
        <span class={column.title ? (column.hidesTitle ? "hidden-when-narrow" : "") : "visually-hidden"}>
          {column.title || "Actions"}
        </span>
      )}
    </th>
  );
}

function Spacer({ height }: { height: number }) {
  return (
    <tr class="table-spacer">
      <td style={{ height: `${height}px` }} />
    </tr>
  );
}

function widthsOf<T>({ width = "auto", narrowWidth = width }: Column<T>): Record<string, string> {
  return { "--width": width, "--narrow-width": narrowWidth };
}

function optionalClass<T>(column: Column<T>): string {
  return column.optional ? `optional-${column.optional}` : "";
}

function cellClass<T>(column: Column<T>): string {
  return `${optionalClass(column)} ${column.align === "end" ? "align-end" : ""}`.trim();
}

/** Follow the scroll position of a region and return which of `total` rows are in view. */
function useVisibleRows(total: number) {
  const region = useRef<HTMLElement>(null);
  const [top, setTop] = useState(0); // first row in view
  const [height, setHeight] = useState(20); // rows in view
  useLayoutEffect(() => {
    const element = region.current;
    if (!element) return;
    const measure = () => {
      setTop(Math.floor(element.scrollTop / ROW));
      setHeight(Math.ceil(element.clientHeight / ROW));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  const count = height + 2 * OVERSCAN;
  const first = Math.min(Math.max(0, top - OVERSCAN), Math.max(0, total - count));
  return { region, first, count };
}
