"""Execute the instructions of a Dockerfile in namespaces, on a base that mmdebstrap installs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools.images.arguments import ROOT
from tools.images.dockerfile import (
    Dockerfile,
    Instruction,
    Stage,
    expand,
    parse_arguments,
    parse_copy,
    parse_declaration,
    parse_pairs,
)
from tools.images.host import PATH, build_environment
from tools.images.layers import Store, hash_tree


@dataclass
class BuiltStage:
    """The result of a stage: its layers and the settings of its image."""

    layers: list[Path]
    origins: list[str] = field(default_factory=list)
    arguments: dict[str, str] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    labels: dict[str, str] = field(default_factory=dict)
    directory: str = "/"
    user: str = ""
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)


class Builder:
    """Executes the instructions of a Dockerfile."""

    def __init__(self, dockerfile: Dockerfile, store: Store, base: Path, arguments: Mapping[str, str]) -> None:
        self._dockerfile = dockerfile
        self._store = store
        self._base = base
        self._arguments = arguments
        self._stages: dict[str, BuiltStage] = {}

    def build(self) -> BuiltStage:
        """Build all stages and return the last one."""
        for stage in self._dockerfile.stages:
            self._stages[stage.name] = self._build_stage(stage)
        return self._stages[self._dockerfile.stages[-1].name]

    def list_layers(self) -> list[Path]:
        """Return the layers of all stages."""
        return list(dict.fromkeys(layer for stage in self._stages.values() for layer in stage.layers))

    def _build_stage(self, stage: Stage) -> BuiltStage:
        built = BuiltStage([self._base], [f"FROM {self._dockerfile.base.partition('@')[0]}, installed by mmdebstrap"])
        for instruction in stage.instructions:
            self._execute(built, instruction)
        return built

    def _execute(self, built: BuiltStage, instruction: Instruction) -> None:
        name, text = instruction
        match name:
            case "ARG":
                argument, default = parse_declaration(text)
                value = self._arguments.get(argument, default)
                built.arguments |= {} if value is None else {argument: value}
            case "RUN":
                self._run(built, instruction, text, built.directory)
            case "COPY":
                self._add(built, instruction, self._copy(built, text))
            case "ENV":
                built.variables |= parse_pairs(expand(text, built.arguments | built.variables))
            case "LABEL":
                built.labels |= parse_pairs(expand(text, built.arguments | built.variables))
            case "WORKDIR":
                built.directory = text
                self._run(built, instruction, f"mkdir -p {text}", "/")
            case "USER":
                built.user = text
            case "ENTRYPOINT":
                built.entrypoint = parse_arguments(text)
            case "CMD":
                built.command = parse_arguments(text)

    def _run(self, built: BuiltStage, instruction: Instruction, command: str, directory: str) -> None:
        variables = {"HOME": "/root", **build_environment(), **built.arguments, **built.variables}
        self._add(built, instruction, self._store.run(built.layers, command, variables, directory))

    def _copy(self, built: BuiltStage, text: str) -> Path:
        stage, names, target = parse_copy(text)
        target = os.path.normpath(Path(built.directory, target))
        if not stage:
            sources = [ROOT / name for name in names]
            return self._store.copy(built.layers, sources, target, key=hash_tree(sources))
        origin = self._stages[stage].layers
        return self._store.copy_from(built.layers, origin, names, target)

    @staticmethod
    def _add(built: BuiltStage, instruction: Instruction, layer: Path) -> None:
        built.layers.append(layer)
        built.origins.append(f"{instruction.name} {instruction.text}")
