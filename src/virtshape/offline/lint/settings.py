"""
Lint settings from `.virtshape.yaml` or `pyproject.toml`, and the patterns that they contain for files and rules.

    StatusError
    └── SettingsError   an invalid settings file or value, with all problems
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from virtshape.api.fielderror import FieldError
from virtshape.api.status import StatusError
from virtshape.api.yaml import YAMLError, read_documents
from virtshape.offline.lint.rules import RULES, Level
from virtshape.offline.lint.targets import OWN, TARGETS

YAML_FILE: Final = ".virtshape.yaml"
TOML_FILE: Final = "pyproject.toml"


class SettingsError(StatusError):
    """An invalid settings file or value, with all problems."""

    def __init__(self, source: str, problems: Iterable[str]) -> None:
        lines = [f"{source}: {problem}" for problem in problems]
        super().__init__(400, "BadRequest", "; ".join(lines), [FieldError("", line) for line in lines])


class Pattern(NamedTuple):
    """A glob for files below a folder; a glob without `/` applies to file and folder names at every level."""

    glob: str
    root: str = "."

    def matches(self, path: str) -> bool:
        """Return True if the path or one of its parent folders matches the glob."""
        parts = Path(os.path.relpath(path, self.root)).parts
        glob = self.glob.rstrip("/").removeprefix("./")
        if "/" not in glob:
            return any(fnmatchcase(part, glob) for part in parts)
        prefixes = ("/".join(parts[: count + 1]) for count in range(len(parts)))
        return any(fnmatchcase(prefix, glob.removesuffix("/**")) for prefix in prefixes)


class SettingsFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """The content of a settings file; the keys have the names of the command's flags."""

    target: str = OWN
    select: tuple[str, ...] = ("*",)
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: dict[str, tuple[str, ...]] = {}
    baseline: str | None = None
    catalog: bool = True
    fail_on: Level = "warning"


class Settings(NamedTuple):
    """Lint settings, and the folder that their paths are relative to."""

    content: SettingsFile = SettingsFile()
    root: str = "."

    def with_flags(self, **flags: Any) -> "Settings":
        """Return the settings overridden by command-line flags, whose paths are relative to the current folder."""
        given = {name: value for name, value in flags.items() if value not in (None, ())}
        if "exclude" in given:
            given["exclude"] = tuple(
                self._anchor(glob) if "/" in glob.rstrip("/") else glob for glob in given["exclude"]
            )
        if "baseline" in given:
            given["baseline"] = self._anchor(given["baseline"])
        return self._replace(content=replace(self.content, **given)).validate("command line")

    def without_baseline(self) -> "Settings":
        """Return the settings without the baseline, so that all findings are reported."""
        return self._replace(content=replace(self.content, baseline=None))

    def validate(self, source: str) -> "Settings":
        """Return these settings, or raise SettingsError if a value is invalid."""
        problems = list(_check(self.content))
        if problems:
            raise SettingsError(source, problems)
        return self

    def _anchor(self, path: str) -> str:
        """Return the path relative to the settings' folder; the argument is relative to the current folder."""
        return os.path.relpath(path, self.root)

    @property
    def rules(self) -> frozenset[str]:
        """The ids of the rules that are selected and not ignored."""
        return frozenset(match_rules(self.content.select)) - frozenset(match_rules(self.content.ignore))

    @property
    def excludes(self) -> Sequence[Pattern]:
        """The patterns for excluded files."""
        return [Pattern(glob, self.root) for glob in self.content.exclude]

    @property
    def baseline(self) -> str | None:
        """The path of the baseline file, or None."""
        path = self.content.baseline
        return os.path.relpath(Path(self.root, path)) if path else None

    def list_ignored(self, path: str) -> frozenset[str]:
        """Return the rules that per-file settings ignore in this file."""
        ignores: Mapping[str, Sequence[str]] = self.content.per_file_ignores
        matching = (names for glob, names in ignores.items() if Pattern(glob, self.root).matches(path))
        return frozenset(name for names in matching for name in match_rules(names))


def match_rules(patterns: Iterable[str]) -> Iterator[str]:
    """Iterate over the ids of all rules that match a pattern; an id may occur several times."""
    return (name for pattern in patterns for name in RULES if fnmatchcase(name, pattern))


def get_settings(folder: str = ".") -> Settings:
    """Return the settings from the nearest file in this folder or above it within the repository, or the defaults."""
    start = Path(folder).absolute()
    for parent in (start, *start.parents):
        for name in (YAML_FILE, TOML_FILE):
            found = read_settings(parent / name) if (parent / name).is_file() else None
            if found is not None:
                return found
        if (parent / ".git").exists():
            break
    return Settings()


def read_settings(path: Path) -> Settings | None:
    """Return the settings in a file, or None for a pyproject.toml without settings; raise SettingsError on errors."""
    source = os.path.relpath(path)
    try:
        tree = _read_toml(path) if path.suffix == ".toml" else _read_yaml(path)
    except OSError as error:
        raise SettingsError(source, [f"cannot be read: {error.strerror}"]) from None
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError
        raise SettingsError(source, [f"is not valid TOML: {error}"]) from None
    except YAMLError as error:
        raise SettingsError(f"{source}:{error.line}:{error.column}", [error.problem]) from None
    if tree is None:
        return None
    try:
        content = convert(tree, SettingsFile)
    except ValidationError as error:
        raise SettingsError(source, [_describe(str(error))]) from None
    return Settings(content, str(path.parent)).validate(source)


def _read_toml(path: Path) -> Any:
    # Imported here, because few projects have this file.
    import tomllib

    tree: Any = tomllib.loads(path.read_text("utf-8"))
    for name in ("tool", "virtshape", "lint"):
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def _read_yaml(path: Path) -> Any:
    documents = read_documents(path.read_bytes(), os.path.relpath(path))
    tree = documents[0].tree if documents else {}
    unknown = [name for name in tree if name != "lint"] if isinstance(tree, dict) else []
    if not isinstance(tree, dict) or unknown or len(documents) > 1:
        name = f", not {unknown[0]}" if unknown else ""
        raise YAMLError(os.path.relpath(path), (1, 1), f'must be one object with the key "lint"{name}')
    return tree.get("lint") or {}


def _describe(refusal: str) -> str:
    """Return the decoder's message with the path at the start as `select`, instead of at the end as `$.select`."""
    message, _, at = refusal.partition(" - at `$")
    place = at.removesuffix("`").removeprefix(".")
    text = message.replace("`", '"').replace("Object contains ", "")
    return f"{place}: {text}" if place else text


def _check(content: SettingsFile) -> Iterator[str]:
    if content.target not in TARGETS:
        yield f'unknown target "{content.target}": must be one of {", ".join(TARGETS)}'
    per_file = [name for names in content.per_file_ignores.values() for name in names]
    for pattern in (*content.select, *content.ignore, *per_file):
        if next(match_rules([pattern]), None) is None:
            # Imported here, because only errors need it.
            from difflib import get_close_matches

            near = get_close_matches(pattern, RULES, n=1)
            hint = f'did you mean "{near[0]}"?' if near else "`virtshape rule` lists all rules"
            yield f'unknown rule "{pattern}"; {hint}'
