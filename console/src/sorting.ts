/** The order of rows and cards: the ID of a column, with a minus sign in front for descending order. */

export interface Sort {
  column: string;
  descending: boolean;
}

export function parseSort(text: string): Sort {
  return text.startsWith("-") ? { column: text.slice(1), descending: true } : { column: text, descending: false };
}

export function formatSort({ column, descending }: Sort): string {
  return `${descending ? "-" : ""}${column}`;
}

/** A value to sort by; null is last in both directions. */
export type SortKey = string | number | null;

/** Return the items sorted by the values that `sortBy` returns; digits in strings are compared as numbers. */
export function sortItems<T>(items: readonly T[], sortBy: (item: T) => SortKey, descending: boolean): readonly T[] {
  const sign = descending ? -1 : 1;
  const keyed = items.map((item) => ({ item, key: sortBy(item) }));
  keyed.sort((one, other) => compare(one.key, other.key, sign));
  return keyed.map(({ item }) => item);
}

const collator = new Intl.Collator("en", { numeric: true });

function compare(one: SortKey, other: SortKey, sign: number): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  if (typeof one === "number" && typeof other === "number") return sign * (one - other);
  return sign * collator.compare(`${one}`, `${other}`);
}
