/** Compare two objects field by field: quantities by amount, empty lists and objects like absent ones. */
import { parseQuantity } from "./format";

export interface Change {
  field: string;
  before: string;
  after: string;
}

/** Return every field with different values, in the order of the fields. */
export function compareValues(before: unknown, after: unknown, path = ""): Change[] {
  if (isSame(before, after)) return [];
  if (isObject(before) && isObject(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) => compareValues(before[key], after[key], path ? `${path}.${key}` : key));
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const length = Math.max(before.length, after.length);
    return Array.from({ length }).flatMap((_, at) => compareValues(before[at], after[at], `${path}[${at}]`));
  }
  return [{ field: path, before: describeValue(before), after: describeValue(after) }];
}

/** Return true if two values mean the same. */
export function isSame(one: unknown, other: unknown): boolean {
  if (one === other || (isEmpty(one) && isEmpty(other))) return true;
  if (typeof one !== "string" || typeof other !== "string") return false;
  const amount = parseQuantity(one);
  return !Number.isNaN(amount) && amount === parseQuantity(other);
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Return a value as text; absent and empty values are empty. */
export function describeValue(value: unknown): string {
  if (isEmpty(value)) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
