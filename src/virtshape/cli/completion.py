"""
`completion`: the script that teaches a shell to complete our commands, flags and values.

The script asks the command itself what fits, so it never has to be made anew.
"""

import click
from click.shell_completion import get_completion_class

from virtshape.cli.command import Command, Example


@click.command(
    "completion",
    cls=Command,
    short_help="Print the completion script for a shell.",
    examples=[
        Example("Complete in this bash", "source <(virtctl completion bash)"),
        Example("Complete in every new zsh", "virtctl completion zsh >> ~/.zshrc"),
        Example("Complete in every new fish", "virtctl completion fish > ~/.config/fish/completions/virtctl.fish"),
    ],
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """
    Print the script that completes commands, flags and their values in a shell.

    The command has to be on the PATH under the name that it was called by.
    """
    root = ctx.find_root()
    name = root.info_name or ""
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - the choices above are the shells that click knows
    script = kind(root.command, {}, name, f"_{name}_COMPLETE".replace("-", "_").upper())
    click.echo(script.source())
