"""Base classes for commands: examples in the help, and flags with kubectl's syntax."""

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from virtshape.cli.errors import suggest

F = TypeVar("F", bound=Callable[..., Any])
LogFormat = Literal["text", "json"]

_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?:0[oO]?(?P<octal>[0-7]+)|(?P<other>0[xX][0-9a-fA-F]+|0[bB][01]+|0|[1-9][0-9]*))",
)
files_option = click.option(
    "-f",
    "--file",
    "--filename",
    "files",
    multiple=True,
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="File or directory to read, or - for standard input. Can be repeated.",
)


class Example(NamedTuple):
    """A command line and its purpose; `{program}` is replaced by the name of the running command."""

    purpose: str
    line: str


def write_examples(examples: Sequence[Example], ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the examples section of the help, without line breaks in commands."""
    indent = " " * formatter.indent_increment
    texts = [f"{indent}# {example.purpose}\n{indent}{example.line}\n" for example in examples]
    if texts:
        program = ctx.find_root().info_name or ""
        text = "\nExamples:\n" + "\n".join(texts)
        if program.startswith("kubectl "):  # the kubectl plugin is the same command under another name
            text = re.sub(r"\bvirtctl(?= )", program, text)
        formatter.write(text.replace("{program}", program))


class Command(click.Command):
    """A command with examples; its boolean flags accept `--flag`, `--flag=true` and `--flag=false`."""

    def __init__(self, *args: Any, examples: Sequence[Example] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; a boolean flag does not take the next argument as its value."""
        return super().parse_args(ctx, normalize_args(self.params, args))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the epilog and the examples."""
        super().format_epilog(ctx, formatter)
        write_examples(self.examples, ctx, formatter)


class OptionalValue(click.ParamType):  # type: ignore[type-arg] # not generic in click 8.1
    """An optional flag value, which must follow `=`: `--flag=value` or `--flag`."""

    default: ClassVar[str]
    """The value of a flag that is given without a value."""


class Switch(OptionalValue):
    """A boolean in the spellings that kubectl accepts."""

    name = "true|false"
    default = "true"
    spellings: ClassVar = {
        **dict.fromkeys(("1", "t", "T", "true", "True", "TRUE"), True),
        **dict.fromkeys(("0", "f", "F", "false", "False", "FALSE"), False),
    }

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool:
        """Parse the value."""
        if isinstance(value, bool):
            return value
        if value not in self.spellings:
            self.fail(f'invalid value "{value}": must be true or false.', param, ctx)
        return self.spellings[value]

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """Complete true and false."""
        return [CompletionItem(value) for value in ("true", "false") if value.startswith(incomplete)]


class OneOf(click.ParamType):  # type: ignore[type-arg] # not generic in click 8.1
    """A choice that ignores case and returns the API's spelling."""

    name = "choice"

    def __init__(self, *choices: str) -> None:
        self.choices = {choice.lower(): choice for choice in choices}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the choice in the API's spelling."""
        choice = self.choices.get(value.lower())
        if choice is None:
            hint = (
                suggest(value, self.choices.values())
                or f"; must be one of {', '.join(filter(None, self.choices.values()))}"
            )
            self.fail(f'unknown value "{value}"{hint}', param, ctx)
        return choice

    def get_metavar(
        self,
        param: click.Parameter,  # noqa: ARG002 - click's signature
        ctx: click.Context | None = None,  # noqa: ARG002 - click's signature
    ) -> str:
        """Return the choices for the help."""
        return f"[{'|'.join(self.choices.values())}]"

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - click's signature
        incomplete: str,
    ) -> list[CompletionItem]:
        """Complete the choices."""
        return [
            CompletionItem(choice) for key, choice in self.choices.items() if key and key.startswith(incomplete.lower())
        ]


class Integer(click.ParamType):  # type: ignore[type-arg] # not generic in click 8.1
    """An integer in kubectl's syntax: decimal, 0x10, 0b10, 0o17 or 017."""

    name = "number"

    def __init__(self, least: int, most: int) -> None:
        self.least = least
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse the number and check its bounds."""
        if isinstance(value, int):
            return value
        read = _NUMBER.fullmatch(value)
        if read is None or (read["sign"] == "+" and self.least >= 0):
            self.fail(f'invalid number "{value}": must be an integer.', param, ctx)
        number = int(read["sign"] + (read["other"] or f"0o{read['octal']}"), 0)
        if not self.least <= number <= self.most:
            self.fail(f"invalid number {value}: must be {self.least}-{self.most}.", param, ctx)
        return number


def normalize_args(parameters: Sequence[click.Parameter], args: list[str]) -> list[str]:
    """Convert kubectl's syntax to click's: add the default to a flag without a value, remove `=` after short flags."""
    options = [parameter for parameter in parameters if isinstance(parameter, click.Option)]
    defaults = {
        name: option.type.default
        for option in options
        if isinstance(option.type, OptionalValue)
        for name in option.opts
    }
    valued = {name for option in options if not option.is_flag for name in option.opts if name not in defaults}
    end = args.index("--") if "--" in args else len(args)
    given: list[str] = []
    for before, arg in zip(["", *args], args[:end], strict=False):
        if before in valued:
            given.append(arg)
        elif arg in defaults:
            given.append(f"{arg}={defaults[arg]}" if arg.startswith("--") else f"{arg}{defaults[arg]}")
        elif arg[2:3] == "=" and arg[:2] in defaults.keys() | valued:
            given.append(arg[:2] + arg[3:])
        else:
            given.append(arg)
    return given + args[end:]


def switch(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Declare a boolean flag with an optional value, such as `--namespaced=false`."""
    return click.option(*names, type=Switch(), metavar="[=true|false]", **attributes)


def collect(function: Callable[..., Any], name: str, kind: type[NamedTuple]) -> Callable[..., Any]:
    """Wrap a command function: collect the flags that are fields of `kind` in one argument called `name`."""

    @wraps(function)
    def call(**values: Any) -> Any:
        collected = kind._make(values.pop(field) for field in kind._fields)
        return function(**values, **{name: collected})

    return call


def output_choice(*forms: str, help: str) -> Callable[[F], F]:  # noqa: A002 - click's name
    """Declare `-o` with the output formats of a command; the first is the default."""
    return click.option("-o", "--output", type=click.Choice(forms), default=forms[0], show_default=True, help=help)


def log_options(default: LogFormat) -> Callable[[F], F]:
    """Declare `--log-level` and `--log-format` for a command that runs a server; `default` is the default format."""

    def decorate(function: F) -> F:
        formats, levels = click.Choice(["text", "json"]), click.Choice(["debug", "info", "warning", "error"])
        function = click.option("--log-format", type=formats, default=default, show_default=True, help="Log format.")(
            function
        )
        return click.option("--log-level", type=levels, default="info", show_default=True, help="Minimum log level.")(
            function
        )

    return decorate
