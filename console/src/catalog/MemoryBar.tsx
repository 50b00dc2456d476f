/** An amount of memory as a row of segments; each further segment doubles the amount. */
const FIRST = 2 ** 28; // 256Mi: one segment
const SEGMENTS = 12; // up to 512Gi
const WIDTH = 5;
const HEIGHT = 10;
const STEP = WIDTH + 1.5;
const ALL = drawSegments(SEGMENTS);

export function MemoryBar({ bytes }: { bytes: number | null }) {
  const width = SEGMENTS * STEP;
  const filled = bytes === null ? 0 : Math.min(SEGMENTS, Math.max(0.5, Math.log2(bytes / FIRST) + 1));
  return (
    <svg class="memory-bar" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
      <path class={bytes === null ? "memory-open" : "memory-empty"} d={ALL} />
      {filled > 0 && <path d={drawSegments(filled)} />}
    </svg>
  );
}

/** Return the SVG path of `count` segments, the last of which may be partial; one path is faster than many elements. */
function drawSegments(count: number): string {
  let path = "";
  for (let index = 0; index < count; index++) {
    const width = (WIDTH * Math.min(1, count - index)).toFixed(1);
    path += `M${index * STEP} 0h${width}v${HEIGHT}h-${width}z`;
  }
  return path;
}
