"""
Read the instructions of a Dockerfile.

The parser supports only what `deploy/*.Dockerfile` use: a FROM of `${BASE}` in each stage, and the instructions in
`INSTRUCTIONS`. Anything else raises ValueError, so that no instruction is ignored.
"""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

INSTRUCTIONS: Final = ("ARG", "RUN", "COPY", "WORKDIR", "ENV", "LABEL", "USER", "ENTRYPOINT", "CMD")


class Instruction(NamedTuple):
    """One instruction of a stage: its name, such as `RUN`, and the text after it, without line continuations."""

    name: str
    text: str


class Copy(NamedTuple):
    """The arguments of COPY; `stage` is empty if the files come from the repository."""

    stage: str
    sources: list[str]
    target: str


@dataclass
class Stage:
    """A stage of the build: the instructions after one FROM and before the next."""

    name: str
    instructions: list[Instruction] = field(default_factory=list)


@dataclass
class Dockerfile:
    """The stages of a Dockerfile, in order, and the reference of the base image that all of them start from."""

    base: str = ""
    stages: list[Stage] = field(default_factory=list)

    @property
    def suite(self) -> str:
        """Return the Debian release of the base image."""
        return self._match_base()[1]

    @property
    def date(self) -> str:
        """Return the date of the base image as YYYYMMDD."""
        return self._match_base()[2]

    def _match_base(self) -> re.Match[str]:
        found = re.match(r"debian:([a-z]+)-(\d{8})-slim@sha256:", self.base)
        if found is None:
            raise ValueError(f"base image {self.base}: must be debian:SUITE-DATE-slim@sha256:DIGEST")
        return found


def read_dockerfile(path: Path) -> Dockerfile:
    """Parse a Dockerfile."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("#")]
    text = re.sub(r"\\\n\s*", "", "\n".join(lines))
    found = Dockerfile()
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, rest = line.partition(" ")
        if name == "ARG" and rest.startswith("BASE=") and not found.stages:
            found.base = rest.removeprefix("BASE=")
        elif name == "FROM":
            base, *named = rest.split(" AS ")
            if base != "${BASE}":
                raise ValueError(f"{path}: {line}: every stage must start from ${{BASE}}")
            found.stages.append(Stage(named[0] if named else ""))
        elif name in INSTRUCTIONS and found.stages:
            found.stages[-1].instructions.append(Instruction(name, rest.strip()))
        else:
            raise ValueError(f"{path}: {line}: instruction not supported by tools/images")
    return found


def parse_copy(text: str) -> Copy:
    """Return the arguments of COPY."""
    words = text.split()
    stage = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else ""
    *sources, target = words
    return Copy(stage, sources, target)


def parse_pairs(text: str) -> dict[str, str]:
    """Return the variables of ENV, or the labels of LABEL."""
    return dict(word.split("=", 1) for word in shlex.split(text))


def parse_declaration(text: str) -> tuple[str, str | None]:
    """Return the name and the default of ARG; the default is None if it has none."""
    name, sign, default = text.partition("=")
    return name, default if sign else None


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace `$NAME` and `${NAME}`; a variable without a value is empty, as in a Docker build."""
    return re.sub(r"\$(?:\{(\w+)\}|(\w+))", lambda found: variables.get(found[1] or found[2], ""), text)


def parse_arguments(text: str) -> list[str]:
    """Return the arguments of ENTRYPOINT or CMD in their JSON form."""
    arguments: list[str] = json.loads(text)
    return arguments
