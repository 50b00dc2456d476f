import click
import pytest

from virtshape.cli.command import Command, Example, OneOf, Switch, WholeNumber, switch


@click.command(cls=Command, examples=[Example("Do it", "show --on"), Example("Do it not", "show --on=false")])
@switch("--on", help="Whether.")
@click.argument("words", nargs=-1)
def show(on: bool | None, words: tuple[str, ...]) -> None:
    click.echo(f"{on} {words}")


@pytest.mark.parametrize(
    ("words", "on"),
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
def test_a_switch_may_be_given_a_value(words: list[str], on: bool | None) -> None:
    assert show.make_context("show", words).params["on"] is on


def test_a_switch_leaves_the_next_word_alone() -> None:
    assert show.make_context("show", ["--on", "false"]).params == {"on": True, "words": ("false",)}


def test_what_stands_after_two_dashes_is_no_switch() -> None:
    assert show.make_context("show", ["--", "--on"]).params == {"on": None, "words": ("--on",)}


@click.command(cls=Command)
@switch("-q", "--quiet", default=False, help="Whether.")
@click.option("-n", "--name", default="")
@click.argument("words", nargs=-1)
def name_it(quiet: bool, name: str, words: tuple[str, ...]) -> None:
    click.echo(f"{quiet} {name} {words}")


@pytest.mark.parametrize(
    ("words", "read"),
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
def test_a_value_may_stand_behind_a_letter_as_kubectl_takes_it(words: list[str], read: tuple[object, ...]) -> None:
    assert tuple(name_it.make_context("name", words).params[key] for key in ("quiet", "name", "words")) == read


@pytest.mark.parametrize("word", ["", "yes", "TRuE", "2"])
def test_a_switch_reads_no_other_words(word: str) -> None:
    with pytest.raises(click.BadParameter):
        show.make_context("show", [f"--on={word}"])


def test_examples_stand_at_the_end_of_the_help() -> None:
    text = show.get_help(click.Context(show))
    assert text.endswith("Examples:\n  # Do it\n  show --on\n\n  # Do it not\n  show --on=false")


@pytest.mark.parametrize(
    ("text", "number"),
    [("5", 5), ("-5", -5), ("+5", 5), ("0x10", 16), ("0b11", 3), ("0o17", 15), ("017", 15), ("0", 0), ("0X1f", 31)],
)
def test_a_number_is_read_as_kubectl_reads_it(text: str, number: int) -> None:
    assert WholeNumber(-10, 2000).convert(text, None, None) == number


def test_a_number_without_a_sign_has_none() -> None:
    with pytest.raises(click.BadParameter):
        WholeNumber(0, 10).convert("+5", None, None)


@pytest.mark.parametrize("text", ["", "x", "1.5", "1e3", " 5", "-11", "2001", "08", "0x", "0o"])
def test_what_is_no_number_within_the_bounds_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        WholeNumber(-10, 2000).convert(text, None, None)


@pytest.mark.parametrize("text", ["Always", "always", "ALWAYS"])
def test_a_word_is_kept_as_the_api_spells_it(text: str) -> None:
    assert OneOf("Always", "Halted").convert(text, None, None) == "Always"


def test_a_word_that_is_none_of_those_known_is_refused_with_the_nearest() -> None:
    with pytest.raises(click.BadParameter, match='"Halt"; did you mean "Halted"'):
        OneOf("Always", "Halted").convert("Halt", None, None)


def test_values_are_completed() -> None:
    context, parameter = click.Context(show), show.params[0]
    assert [item.value for item in OneOf("Always", "Halted").shell_complete(context, parameter, "h")] == ["Halted"]
    assert [item.value for item in Switch().shell_complete(context, parameter, "")] == ["true", "false"]
