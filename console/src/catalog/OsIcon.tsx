/** A picture of the type of guest OS, in a colour of its family. */
const PATHS: Record<string, string> = {
  linux: "M6 11l4 4-4 4M13 19h6",
  windows: "M5 7h14v11H5zM5 10.5h14",
  legacy: "M6 6h10l2 2v10H6zM9 6v4h5V6M9 18v-4h6v4",
  other: "M12 5a7 7 0 1 0 .01 0M12 10.5a1.5 1.5 0 1 0 .01 0",
};

export function OsIcon({ os, family }: { os: string; family: string }) {
  return (
    <svg
      class="os-icon"
      viewBox="0 0 24 24"
      width="28"
      height="28"
      aria-hidden="true"
      style={{ "--hue": hueOf(family) }}
    >
      <rect class="os-tile" width="24" height="24" rx="6" />
      <path d={PATHS[os] ?? PATHS.other ?? ""} />
    </svg>
  );
}

/** Return a hue that is the same for all preferences of a family. */
function hueOf(family: string): number {
  let hash = 7;
  for (const letter of family) hash = (hash * 31 + letter.charCodeAt(0)) % 3600;
  return (hash * 37) % 360;
}
