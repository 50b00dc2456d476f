"""`virtshape rule`: explain lint rules."""

import json
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import Command, Example, output_choice
from virtshape.cli.errors import ArgumentError, suggest
from virtshape.cli.lint import complete_rules

if TYPE_CHECKING:
    from virtshape.offline.lint import Rule


@click.command(
    "rule",
    cls=Command,
    short_help="Explain a lint rule.",
    examples=[
        Example("List all rules", "virtshape rule"),
        Example("Explain a rule, with an example", "virtshape rule unmet-requirement"),
    ],
)
@click.argument("name", required=False, shell_complete=complete_rules)
@output_choice("text", "json", help="Output format.")
def command(name: str | None, output: str) -> int:
    """
    Explain a rule of `virtshape lint`: what is wrong, what to do about it, and an example.

    Without NAME, list all rules.
    """
    # Imported here to keep `--help` fast.
    from virtshape.offline.lint import RULES

    if name is not None and name not in RULES:
        raise ArgumentError(
            f'unknown rule "{name}"{suggest(name, RULES)}', next_step="`virtshape rule` lists all rules."
        )
    rules = list(RULES.values()) if name is None else [RULES[name]]
    if output == "json":
        described = [describe(rule) for rule in rules]
        click.echo(json.dumps(described if name is None else described[0], indent=2))
    elif name is None:
        width = max(map(len, RULES))
        click.echo("\n".join(f"{rule.id:{width}}  {rule.level:7}  {rule.title}" for rule in rules))
    else:
        click.echo(explain(rules[0]))
    return 0


def describe(rule: "Rule") -> dict[str, str | bool]:
    """Return a rule and its example as a JSON object."""
    from virtshape.offline.lint.examples import load_examples

    return {**rule._asdict(), "example": load_examples()[rule.id]}


def explain(rule: "Rule") -> str:
    """Return the explanation of a rule as text."""
    from virtshape.offline.lint.examples import TARGET, load_examples

    target = f", with --target {TARGET}" if rule.id.startswith("target-") else ""
    example = "".join(f"    {line}\n" for line in load_examples()[rule.id].splitlines())
    fix = "\n`virtshape lint --fix` corrects it where the correction is certain.\n" if rule.fixable else ""
    return (
        f"{rule.id} ({rule.level})\n\n{rule.title}.\n{rule.advice}\n{fix}\n"
        f"An example that violates it{target}:\n\n{example}\n"
        f"To suppress it, add a comment to the line: # virtshape: ignore[{rule.id}]"
    )
