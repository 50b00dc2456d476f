"""
A command as users of kubectl expect it: examples in its help, boolean flags that may be given a value.

Decides nothing about what the command does.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar

import click
from click.shell_completion import CompletionItem

from virtshape.cli.errors import suggest

F = TypeVar("F", bound=Callable[..., Any])

_NUMBER = re.compile(
    r"(?P<sign>[+-]?)(?:0[oO]?(?P<octal>[0-7]+)|(?P<other>0[xX][0-9a-fA-F]+|0[bB][01]+|0|[1-9][0-9]*))",
)


class Example(NamedTuple):
    """What a command line is good for, and the line; `{program}` in it is the command that shows it."""

    purpose: str
    line: str


def write_examples(examples: Sequence[Example], ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the help's section of examples; the lines are never broken."""
    indent = " " * formatter.indent_increment
    texts = [f"{indent}# {example.purpose}\n{indent}{example.line}\n" for example in examples]
    if texts:
        program = ctx.find_root().info_name or ""
        text = "\nExamples:\n" + "\n".join(texts)
        if program.startswith("kubectl "):  # kubectl's plugin is the same command by another name
            text = re.sub(r"\bvirtctl(?= )", program, text)
        formatter.write(text.replace("{program}", program))


class Command(click.Command):
    """A command with examples; its boolean flags read `--flag`, `--flag=true` and `--flag=false`."""

    def __init__(self, *args: Any, examples: Sequence[Example] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; a boolean flag alone never takes the next word for its value."""
        return super().parse_args(ctx, give_values(self.params, args))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, ready to be pasted."""
        super().format_epilog(ctx, formatter)
        write_examples(self.examples, ctx, formatter)


class Switch(click.ParamType):  # type: ignore[type-arg] # click 8.1 takes none
    """True or false, in the spellings that kubectl takes."""

    name = "true|false"
    spellings: ClassVar = {
        **dict.fromkeys(("1", "t", "T", "true", "True", "TRUE"), True),
        **dict.fromkeys(("0", "f", "F", "false", "False", "FALSE"), False),
    }

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool:
        """Read the word."""
        if isinstance(value, bool):
            return value
        if value not in self.spellings:
            self.fail(f"{value!r} is neither true nor false.", param, ctx)
        return self.spellings[value]

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - as above
        incomplete: str,
    ) -> list[CompletionItem]:
        """Offer both words."""
        return [CompletionItem(word) for word in ("true", "false") if word.startswith(incomplete)]


class OneOf(click.ParamType):  # type: ignore[type-arg] # as above
    """One of some words, read without regard to case and kept as the API spells it."""

    name = "word"

    def __init__(self, *words: str) -> None:
        self.words = {word.lower(): word for word in words}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Find the word."""
        word = self.words.get(value.lower())
        if word is None:
            hint = suggest(value, self.words.values()) or f"; known are {', '.join(self.words.values())}"
            self.fail(f'"{value}" is unknown{hint}', param, ctx)
        return word

    def get_metavar(
        self,
        param: click.Parameter,  # noqa: ARG002 - click's signature
        ctx: click.Context | None = None,  # noqa: ARG002 - as above
    ) -> str:
        """Show the words in the help."""
        return f"[{'|'.join(self.words.values())}]"

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        param: click.Parameter,  # noqa: ARG002 - as above
        incomplete: str,
    ) -> list[CompletionItem]:
        """Offer the words that begin so."""
        return [CompletionItem(word) for key, word in self.words.items() if key.startswith(incomplete.lower())]


class WholeNumber(click.ParamType):  # type: ignore[type-arg] # as above
    """A whole number as kubectl reads it: decimal, 0x10, 0b10, 0o17 or 017."""

    name = "number"

    def __init__(self, least: int, most: int) -> None:
        self.least = least
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the number and hold it against its bounds."""
        if isinstance(value, int):
            return value
        read = _NUMBER.fullmatch(value)
        if read is None or (read["sign"] == "+" and self.least >= 0):
            self.fail(f"{value!r} is not a whole number.", param, ctx)
        number = int(read["sign"] + (read["other"] or f"0o{read['octal']}"), 0)
        if not self.least <= number <= self.most:
            self.fail(f"{value} is not between {self.least} and {self.most}.", param, ctx)
        return number


def give_values(parameters: Sequence[click.Parameter], args: list[str]) -> list[str]:
    """The arguments as click reads them: a value for each switch that stands alone, no `=` behind a single letter."""
    options = [parameter for parameter in parameters if isinstance(parameter, click.Option)]
    switches = {name for option in options if is_switch(option) for name in option.opts}
    takers = {name for option in options if not option.is_flag and not is_switch(option) for name in option.opts}
    end = args.index("--") if "--" in args else len(args)
    given: list[str] = []
    for before, word in zip(["", *args], args[:end], strict=False):
        if before in takers:
            given.append(word)
        elif word in switches:
            given.append(give_value(word))
        elif word[2:3] == "=" and word[:2] in switches | takers:
            given.append(word[:2] + word[3:])
        else:
            given.append(word)
    return given + args[end:]


def give_value(word: str) -> str:
    """The switch with its value written out, a short one as click wants it."""
    return f"{word}=true" if word.startswith("--") else f"{word}true"


def is_switch(parameter: click.Parameter) -> bool:
    """Whether the flag is a boolean whose value may be left out."""
    return isinstance(parameter.type, Switch)


def switch(*names: str, **attributes: Any) -> Callable[[F], F]:
    """Declare a boolean flag that may be given a value, as `--namespaced=false`."""
    return click.option(*names, type=Switch(), metavar="[=true|false]", **attributes)


def output_choice(*forms: str, help: str) -> Callable[[F], F]:  # noqa: A002 - click's word
    """Declare `-o`: the forms that a command prints in, the first unless another is asked for."""
    return click.option("-o", "--output", type=click.Choice(forms), default=forms[0], show_default=True, help=help)
