/** Times and quantities for people. */

const UNITS: [number, string][] = [
  [86_400, "d"],
  [3_600, "h"],
  [60, "m"],
];

/** Return the age of a timestamp as kubectl shows it: 12s, 5m, 3h, 2d. */
export function formatAge(timestamp: string | undefined, now = Date.now()): string {
  if (!timestamp) return "";
  const seconds = Math.max(0, Math.floor((now - Date.parse(timestamp)) / 1000));
  for (const [size, unit] of UNITS) if (seconds >= 2 * size) return `${Math.floor(seconds / size)}${unit}`;
  return `${seconds}s`;
}

const FACTORS: Record<string, number> = {
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** Return the amount of a quantity such as 4Gi, or NaN. */
export function parseQuantity(text: string | undefined): number {
  const match = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)$/.exec(text ?? "");
  return match ? Number(match[1]) * (FACTORS[match[2] ?? ""] ?? Number.NaN) : Number.NaN;
}

/** Return a number of bytes with a binary unit, such as 1.5Gi. */
export function formatBytes(bytes: number): string {
  for (const unit of ["Ti", "Gi", "Mi", "Ki"]) {
    const size = FACTORS[unit] ?? 1;
    if (bytes >= size) return `${Number((bytes / size).toFixed(2))}${unit}`;
  }
  return `${bytes}`;
}
