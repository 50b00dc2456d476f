/** The vCPUs of an instance type: a cell for each, in frames for sockets and pairs for threads if the topology is exact. */
import type { Topology } from "../api/objects";
import type { Size } from "./instancetypes";

const ROWS = 4; // cells above each other
const CELL = 6;
const STEP = CELL + 1.5;
const DRAWN = 128; // cells at most; the number is next to the picture in any case

interface Cell {
  x: number;
  y: number;
  height: number;
}

interface Picture {
  cells: Cell[];
  frames: { x: number; width: number }[];
  width: number;
  height: number;
}

const HEIGHT = heightOf(ROWS);

export function TopologyPicture({ size }: { size: Size }) {
  if (size.vcpus === null) return <OpenSize />;
  const { cells, frames, width, height } = size.topology ? drawTopology(size.topology) : drawVcpus(size.vcpus);
  return (
    <svg class="topology" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {frames.map((frame) => (
        <rect
          key={frame.x}
          class="topology-socket"
          x={frame.x}
          y="0.5"
          width={frame.width}
          height={height - 1}
          rx="2"
        />
      ))}
      <path d={cells.map(drawCell).join("")} />
    </svg>
  );
}

/** Return the SVG path of a cell; one path for all cells is faster than many elements. */
function drawCell({ x, y, height }: Cell): string {
  return `M${x} ${y}h${CELL}v${height}h-${CELL}z`;
}

/** The picture of vCPUs whose number the VM sets. */
function OpenSize() {
  return (
    <svg class="topology" width="24" height={HEIGHT} viewBox={`0 0 24 ${HEIGHT}`} aria-hidden="true">
      <rect class="topology-open" x="0.75" y="0.75" width="22.5" height={HEIGHT - 1.5} rx="3" />
    </svg>
  );
}

/** Columns with a cell for each vCPU; the preference decides how the vCPUs are distributed. */
function drawVcpus(vcpus: number): Picture {
  const count = Math.min(vcpus, DRAWN);
  const cells = Array.from({ length: count }, (_, index) => ({
    x: 1 + Math.floor(index / ROWS) * STEP,
    y: 2 + (index % ROWS) * STEP,
    height: CELL,
  }));
  return { cells, frames: [], width: 2 + Math.ceil(count / ROWS) * STEP, height: heightOf(count) };
}

/** A frame for each socket with a square for each core, which is divided into its threads. */
function drawTopology({ sockets, cores, threads }: Required<Topology>): Picture {
  const columns = Math.ceil(cores / ROWS);
  const socketWidth = columns * STEP + 2.5;
  const drawnSockets = Math.min(sockets, Math.max(1, Math.floor(DRAWN / (cores * threads))));
  const drawnCores = Math.min(cores, DRAWN);
  const part = (CELL - (threads - 1)) / threads;
  const picture: Picture = {
    cells: [],
    frames: [],
    width: drawnSockets * (socketWidth + 2) + 1,
    height: heightOf(cores),
  };
  for (let socket = 0; socket < drawnSockets; socket++) {
    const left = 0.5 + socket * (socketWidth + 2);
    picture.frames.push({ x: left, width: socketWidth });
    for (let core = 0; core < drawnCores; core++) {
      const x = left + 2 + Math.floor(core / ROWS) * STEP;
      const y = 2.25 + (core % ROWS) * STEP;
      for (let thread = 0; thread < Math.min(threads, 3); thread++)
        picture.cells.push({ x, y: y + thread * (part + 1), height: Math.max(part, 1) });
    }
  }
  return picture;
}

/** Return the height of a picture with this many cells, at most ROWS of which are in a column. */
function heightOf(cells: number): number {
  return Math.min(cells, ROWS) * STEP + 3;
}

/** Return the number of vCPUs and the exact topology as text. */
export function describeVcpus({ vcpus, topology }: Size): string {
  if (vcpus === null) return "vCPUs set by the VM";
  if (!topology) return `${vcpus} vCPU${vcpus === 1 ? "" : "s"}`;
  const { sockets, cores, threads } = topology;
  return `${vcpus} vCPU${vcpus === 1 ? "" : "s"}: ${sockets} × ${cores} × ${threads}`;
}
