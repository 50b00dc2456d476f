/** An amount of memory as a row of segments: each one more is twice the memory. */
const FIRST = 2 ** 28; // 256Mi: one segment
const SEGMENTS = 12; // up to 512Gi
const WIDTH = 5;
const STEP = WIDTH + 1.5;

export function MemoryBar({ bytes }: { bytes: number | null }) {
  const filled = bytes === null ? 0 : Math.min(SEGMENTS, Math.max(0.5, Math.log2(bytes / FIRST) + 1));
  const width = SEGMENTS * STEP;
  return (
    <svg class="memory-bar" width={width} height="10" viewBox={`0 0 ${width} 10`} aria-hidden="true">
      {Array.from({ length: SEGMENTS }, (_, index) => (
        <g key={index}>
          <rect
            class={bytes === null ? "memory-open" : "memory-empty"}
            x={index * STEP}
            width={WIDTH}
            height="10"
            rx="1"
          />
          {filled > index && <rect x={index * STEP} width={WIDTH * Math.min(1, filled - index)} height="10" rx="1" />}
        </g>
      ))}
    </svg>
  );
}
