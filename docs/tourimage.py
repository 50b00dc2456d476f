"""
Draw docs/images/tour.svg: a terminal that runs offline commands, with the output that they print.

    python docs/tourimage.py           writes the file
    python docs/tourimage.py --check   exits with 1 if the commands print something else now

The picture is animated with CSS only; if the reader prefers reduced motion, it shows the first command.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

ROOT: Final = Path(__file__).parents[1]
PICTURE: Final = ROOT / "docs/images/tour.svg"
COMMANDS: Final = (
    "virtctl expand -f examples/web.yaml --explain",
    "virtshape lint examples/broken",
    "virtctl customize u1.medium --name u1.mysize --vcpus 4 --memory 4Gi",
    "virtshape catalog --series u1 -o table",
)
COLUMNS: Final = 132
ROWS: Final = 25
CELL_WIDTH: Final = 7.2
CELL_HEIGHT: Final = 17
MARGIN: Final = 16
BAR: Final = 32
TYPING_SECONDS: Final = 0.04
READING_SECONDS: Final = 4.0
PROMPT: Final = "$ "
ERROR: Final = ' <tspan class="error">error:</tspan> '
STYLE: Final = """\
text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #d4d7dd; white-space: pre; }
.prompt { fill: #7fd1a0; }
.error { fill: #ff8a80; }
.cover { fill: #16181d; }
.scene { opacity: 0; }
#scene0 { opacity: 1; }
@media (prefers-reduced-motion: reduce) {
  .scene, .cover, .output { animation: none !important; }
  .cover { display: none; }
}
"""


class Scene(NamedTuple):
    """A command, its output as a terminal wraps it, and when it is shown, in seconds."""

    command: str
    lines: list[str]
    start: float

    @property
    def typed(self) -> float:
        """When the command is complete and its output appears."""
        return self.start + len(self.command) * TYPING_SECONDS

    @property
    def end(self) -> float:
        """When the next command starts."""
        return self.typed + READING_SECONDS


def main() -> int:
    """Write or check the picture; return the exit status."""
    drawn = draw(list(list_scenes()))
    if "--check" in sys.argv:
        if not PICTURE.exists() or PICTURE.read_text() != drawn:
            sys.stdout.write("docs/images/tour.svg is out of date: run make docs\n")
            return 1
        return 0
    PICTURE.write_text(drawn)
    return 0


def list_scenes() -> Iterator[Scene]:
    """Run the commands in order and yield a scene for each."""
    start = 0.0
    for command in COMMANDS:
        scene = Scene(command, list(wrap(run(command))), start)
        yield scene
        start = scene.end


def run(command: str) -> str:
    """Return the output of a command that runs without a home directory, and so without a kubeconfig or settings."""
    program, *arguments = shlex.split(command)
    environment = {"PATH": os.environ["PATH"], "HOME": os.devnull, "COLUMNS": str(COLUMNS)}
    found = Path(sys.executable).parent / program
    ran = subprocess.run(  # noqa: S603 - one of the commands above
        [found, *arguments], capture_output=True, text=True, cwd=ROOT, env=environment, check=False
    )
    if ran.returncode > 1:
        raise RuntimeError(f"{command} failed: {ran.stderr}")
    return ran.stdout


def wrap(output: str) -> Iterator[str]:
    """Yield the lines of an output, as many as fit on the screen, broken at its right edge."""
    rows = [line[at : at + COLUMNS] for line in output.splitlines() for at in range(0, max(len(line), 1), COLUMNS)]
    yield from rows[: ROWS - 1]


def draw(scenes: Sequence[Scene]) -> str:
    """Return the picture of all scenes as SVG."""
    width = round(COLUMNS * CELL_WIDTH + 2 * MARGIN)
    height = ROWS * CELL_HEIGHT + 2 * MARGIN + BAR
    seconds = scenes[-1].end
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="title">',
        f'<title id="title">A terminal that runs {escape(", ".join(COMMANDS))}</title>',
        f"<style>\n{STYLE}{''.join(animate(number, scene, seconds) for number, scene in enumerate(scenes))}</style>",
        f'<rect width="{width}" height="{height}" rx="8" fill="#16181d"/>',
        *(f'<circle cx="{20 + 18 * at}" cy="18" r="5" fill="#4a4f5a"/>' for at in range(3)),
        *(line for number, scene in enumerate(scenes) for line in draw_scene(number, scene)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def animate(number: int, scene: Scene, seconds: float) -> str:
    """Return the CSS that types a command, shows its output, and hides both when the next one starts."""
    begin, typed, end = (f"{100 * moment / seconds:.2f}%" for moment in (scene.start, scene.typed, scene.end))
    hidden = f"0% {{ opacity: 0; }} {begin} {{ opacity: 1; }}" if number else "0% { opacity: 1; }"
    after = "" if scene.end == seconds else f"{end} {{ opacity: 0; }} 100% {{ opacity: 0; }}"
    width = len(scene.command) * CELL_WIDTH
    timing = f"{seconds:.2f}s step-end infinite"
    return (
        f"@keyframes shown{number} {{ {hidden} {after} }}\n"
        f"@keyframes typed{number} {{ 0% {{ transform: none; animation-timing-function: step-end; }} "
        f"{begin} {{ transform: none; animation-timing-function: steps({len(scene.command)}); }} "
        f"{typed}, 100% {{ transform: translateX({width:.1f}px); }} }}\n"
        f"@keyframes printed{number} {{ 0% {{ opacity: 0; }} {typed}, 100% {{ opacity: 1; }} }}\n"
        f"#scene{number} {{ animation: shown{number} {timing}; }}\n"
        f"#cover{number} {{ animation: typed{number} {timing}; }}\n"
        f"#output{number} {{ animation: printed{number} {timing}; }}\n"
    )


def draw_scene(number: int, scene: Scene) -> Iterator[str]:
    """Yield the elements of one command and its output."""
    yield f'<g class="scene" id="scene{number}">'
    yield draw_line(PROMPT, 0, 0, "prompt")
    yield draw_line(scene.command, 0, len(PROMPT))
    left, top = MARGIN + len(PROMPT) * CELL_WIDTH, BAR + MARGIN - 13
    width = len(scene.command) * CELL_WIDTH + 2
    yield f'<svg x="{left:.1f}" y="{top}" width="{width:.1f}" height="{CELL_HEIGHT}">'
    yield f'<rect class="cover" id="cover{number}" width="{width:.1f}" height="{CELL_HEIGHT}"/></svg>'
    yield f'<g class="output" id="output{number}">'
    for row, line in enumerate(scene.lines, 1):
        if line.strip():
            yield draw_line(line.rstrip(), row, 0)
    yield "</g></g>"


def draw_line(text: str, row: int, column: int, name: str = "") -> str:
    """Return a text element that is as wide as its cells in every font."""
    x, y = MARGIN + column * CELL_WIDTH, BAR + MARGIN + row * CELL_HEIGHT
    kind = f' class="{name}"' if name else ""
    return (
        f'<text x="{x:.1f}" y="{y}"{kind} textLength="{len(text) * CELL_WIDTH:.1f}" lengthAdjust="spacingAndGlyphs" '
        f'xml:space="preserve">{escape(text).replace(" error: ", ERROR)}</text>'
    )


if __name__ == "__main__":
    sys.exit(main())
