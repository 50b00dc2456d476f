"""
Generate docs/virtctl.md and docs/reference: commands from their help, kinds from their structs.

    python docs/generate.py           writes the files
    python docs/generate.py --check   prints the files that are out of date; the exit status is 1 if there are any
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click
from msgspec import inspect

from virtshape.api.description import describe
from virtshape.api.kinds import Kind, find_kind
from virtshape.cli.options import any_command, describe_flags
from virtshape.cli.virtctl import virtctl
from virtshape.cli.virtshape import virtshape

FOLDER = Path(__file__).parent
VIRTCTL = """# virtctl

`virtctl` is the command for users of VMs. It has the names, flags and messages of KubeVirt's virtctl, and works with
`virtshape up`, with virtshape on a cluster and with a KubeVirt cluster. `kubectl virt ...` runs the same command as a
kubectl plugin. To enable completion, run `source <(virtctl completion bash)`, or `source <(kubectl completion bash)`
for the plugin.

The exit status is 0 for success, 1 for a failed or rejected request, 2 for an invalid command line, 3 for a command
that is not available, and 130 after an interruption. Errors and the next step go to standard error, and results go to
standard output. This page is generated from the help of the commands.
"""
KINDS = (
    ("kubevirt.io/v1", "VirtualMachine"),
    ("kubevirt.io/v1", "VirtualMachineInstance"),
    ("kubevirt.io/v1", "KubeVirt"),
    ("instancetype.kubevirt.io/v1beta2", "VirtualMachineInstancetype"),
    ("instancetype.kubevirt.io/v1beta2", "VirtualMachinePreference"),
    ("flavor.kubevirt.io/v1alpha1", "VirtualMachineFlavor"),
    ("cdi.kubevirt.io/v1beta1", "DataVolume"),
    ("cdi.kubevirt.io/v1beta1", "DataSource"),
)
WIDTH = 100


def main() -> int:
    """Write or check all files; return the exit status."""
    pages = {f"{name}.md": text for name, text in write_pages()}
    stale = [name for name, text in pages.items() if _read(FOLDER / name) != text]
    if "--check" in sys.argv:
        sys.stdout.writelines(f"docs/{name} is out of date: run make docs\n" for name in stale)
        return 1 if stale else 0
    (FOLDER / "reference").mkdir(exist_ok=True)
    for name in stale:
        (FOLDER / name).write_text(pages[name])
    return 0


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def write_pages() -> Iterator[tuple[str, str]]:
    """Yield the name and text of each page."""
    contents = write_contents("virtctl", virtctl)
    yield "virtctl", "\n".join([VIRTCTL, contents, write_flags(), *write_commands("virtctl", virtctl)])
    yield "reference/virtshape", "\n".join(["# virtshape\n", *write_commands("virtshape", virtshape)])
    for api_version, name in KINDS:
        kind = find_kind(api_version, name)
        if kind is not None:
            yield f"reference/{name.lower()}", write_kind(kind)


def write_contents(program: str, group: click.Group) -> str:
    """Return a table of a program's commands."""
    rows = []
    for each in _walk_commands(program, group):
        if not isinstance(each.command, click.Group):
            path, summary = each.command_path, each.command.get_short_help_str(WIDTH)
            rows.append(f"| [`{path}`](#{path.replace(' ', '-')}) | {summary} |")
    return "\n".join(["| command | |", "| --- | --- |", *rows, ""])


def write_flags() -> str:
    """Return the global flags of virtctl, which the help of commands omits."""
    (context,) = _walk_commands("options", any_command)
    return f"Every command accepts these flags, before or after its name:\n\n```text\n{describe_flags(context)}```\n"


def write_commands(program: str, group: click.Group) -> Iterator[str]:
    """Yield the help of a program and of all its commands."""
    for context in _walk_commands(program, group):
        text = "\n".join(line.rstrip() for line in context.get_help().splitlines())
        heading = f"## {context.command_path}\n\n" if context.parent else ""
        yield f"{heading}```text\n{text}\n```\n"


def _walk_commands(name: str, command: click.Command, parent: click.Context | None = None) -> Iterator[click.Context]:
    context = click.Context(
        command,
        parent=parent,
        info_name=name,
        resilient_parsing=True,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    yield context
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            found = command.get_command(context, each)
            if found is not None:
                yield from _walk_commands(each, found, context)


def write_kind(kind: Kind) -> str:
    """Return a page with all fields of a kind, struct by struct."""
    scope = "namespaced" if kind.namespaced else "cluster-wide"
    names = ", ".join(f"`{name}`" for name in (kind.plural, *kind.short_names))
    facts = f"This kind is {scope}. Its API version is `{kind.api_version}`. kubectl accepts these names: {names}."
    parts = [f"# {kind.kind}\n\n{facts}\n"]
    seen: dict[str, type] = {}
    waiting = [kind.struct]
    while waiting:
        struct = waiting.pop(0)
        if struct.__name__ in seen:
            continue
        seen[struct.__name__] = struct
        text, inner = _write_struct(struct)
        parts.append(text)
        waiting += inner
    return "\n".join(parts)


def _write_struct(struct: type) -> tuple[str, list[type]]:
    shape = inspect.type_info(struct)
    if not isinstance(shape, inspect.StructType):
        raise TypeError(f"{struct.__name__} is not a struct")
    texts = describe(struct)
    inner: list[type] = []
    rows = []
    for field in shape.fields:
        name = _name_type(field.type, inner)
        needed = " (required)" if field.required else ""
        text = texts.fields.get(field.name, "").replace("|", "\\|").replace("\n", " ")
        rows.append(f"| `{field.encode_name}` | {name}{needed} | {text} |")
    table = ["| field | type | |", "| --- | --- | --- |", *rows] if rows else ["No fields."]
    return "\n".join([f"## {struct.__name__}\n", f"{texts.summary}\n", *table, ""]), inner


def _name_type(shape: inspect.Type, inner: list[type]) -> str:
    match shape:
        case inspect.UnionType(types=types):
            names = [_name_type(part, inner) for part in types if not isinstance(part, inspect.NoneType)]
            return " or ".join(names)
        case inspect.ListType(item_type=item):
            return f"list of {_name_type(item, inner)}"
        case inspect.DictType(value_type=value):
            return f"map of {_name_type(value, inner)}"
        case inspect.StructType(cls=struct):
            inner.append(struct)
            return f"[{struct.__name__}](#{struct.__name__.lower()})"
        case inspect.LiteralType(values=values):
            return ", ".join(f"`{value}`" for value in values)
        case inspect.CustomType(cls=custom):
            return custom.__name__.lower()
        case inspect.Metadata(type=wrapped):
            return _name_type(wrapped, inner)
        case _:
            plain = {inspect.StrType: "string", inspect.IntType: "integer", inspect.BoolType: "boolean"}
            return plain.get(type(shape), "number" if isinstance(shape, inspect.FloatType) else "anything")


if __name__ == "__main__":
    sys.exit(main())
