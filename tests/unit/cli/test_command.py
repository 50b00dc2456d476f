import click
import pytest

from virtshape.cli.command import Command, Example, Integer, OneOf, Switch, switch


@click.command(cls=Command, examples=[Example("Do it", "show --on"), Example("Do it not", "show --on=false")])
@switch("--on", help="Whether.")
@click.argument("arguments", nargs=-1)
def show(on: bool | None, arguments: tuple[str, ...]) -> None:
    click.echo(f"{on} {arguments}")


@pytest.mark.parametrize(
    ("arguments", "on"),
    [
        ([], None),
        (["--on"], True),
        (["--on=true"], True),
        (["--on=1"], True),
        (["--on=false"], False),
        (["--on=F"], False),
        (["--on", "--on=false"], False),
    ],
)
def test_boolean_flag_accepts_a_value(arguments: list[str], on: bool | None) -> None:
    assert show.make_context("show", arguments).params["on"] is on


def test_boolean_flag_does_not_consume_the_next_argument() -> None:
    assert show.make_context("show", ["--on", "false"]).params == {"on": True, "arguments": ("false",)}


def test_arguments_after_two_dashes_are_not_flags() -> None:
    assert show.make_context("show", ["--", "--on"]).params == {"on": None, "arguments": ("--on",)}


@click.command(cls=Command)
@switch("-q", "--quiet", default=False, help="Whether.")
@click.option("-n", "--name", default="")
@click.argument("arguments", nargs=-1)
def name_it(quiet: bool, name: str, arguments: tuple[str, ...]) -> None:
    click.echo(f"{quiet} {name} {arguments}")


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        (["-n=web"], (False, "web", ())),
        (["-n", "web"], (False, "web", ())),
        (["-nweb"], (False, "web", ())),
        (["-n==web"], (False, "=web", ())),
        (["--name=web", "-q=false"], (False, "web", ())),
        (["-q=true", "x"], (True, "", ("x",))),
        (["-n", "-q=1"], (False, "-q=1", ())),
        (["-n", "--quiet"], (False, "--quiet", ())),
        (["--", "-n=web"], (False, "", ("-n=web",))),
    ],
)
def test_short_flags_accept_values_like_kubectl(arguments: list[str], read: tuple[object, ...]) -> None:
    assert tuple(name_it.make_context("name", arguments).params[key] for key in ("quiet", "name", "arguments")) == read


@pytest.mark.parametrize("word", ["", "yes", "TRuE", "2"])
def test_boolean_flag_rejects_a_value_that_is_not_a_boolean(word: str) -> None:
    with pytest.raises(click.BadParameter):
        show.make_context("show", [f"--on={word}"])


def test_command_help_ends_with_examples() -> None:
    text = show.get_help(click.Context(show))
    assert text.endswith("Examples:\n  # Do it\n  show --on\n\n  # Do it not\n  show --on=false")


@pytest.mark.parametrize(
    ("text", "number"),
    [("5", 5), ("-5", -5), ("+5", 5), ("0x10", 16), ("0b11", 3), ("0o17", 15), ("017", 15), ("0", 0), ("0X1f", 31)],
)
def test_numeric_flags_are_parsed_as_in_kubectl(text: str, number: int) -> None:
    assert Integer(-10, 2000).convert(text, None, None) == number


def test_unsigned_number_rejects_a_sign() -> None:
    with pytest.raises(click.BadParameter):
        Integer(0, 10).convert("+5", None, None)


@pytest.mark.parametrize("text", ["", "x", "1.5", "1e3", " 5", "-11", "2001", "08", "0x", "0o"])
def test_invalid_number_in_a_flag_is_rejected(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Integer(-10, 2000).convert(text, None, None)


@pytest.mark.parametrize("text", ["Always", "always", "ALWAYS"])
def test_choice_is_converted_to_the_spelling_of_the_api(text: str) -> None:
    assert OneOf("Always", "Halted").convert(text, None, None) == "Always"


def test_unknown_value_of_a_choice_flag_is_rejected_with_a_suggestion() -> None:
    with pytest.raises(click.BadParameter, match='"Halt"; did you mean "Halted"'):
        OneOf("Always", "Halted").convert("Halt", None, None)


def test_shell_completion_offers_values_of_choices_and_booleans() -> None:
    context, parameter = click.Context(show), show.params[0]
    assert [item.value for item in OneOf("Always", "Halted").shell_complete(context, parameter, "h")] == ["Halted"]
    assert [item.value for item in Switch().shell_complete(context, parameter, "")] == ["true", "false"]
