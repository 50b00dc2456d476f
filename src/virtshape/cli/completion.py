"""
`completion`: the script that teaches a shell to complete our commands, flags and values.

The script asks the command itself what fits, so it never has to be made anew.
"""

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from virtshape.cli.command import Command, Example
from virtshape.cli.errors import Refusal

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command(
    "completion",
    cls=Command,
    short_help="Print the completion script for a shell.",
    examples=[
        Example("Complete in this bash", "source <({program} completion bash)"),
        Example("Complete in every new zsh", "{program} completion zsh >> ~/.zshrc"),
        Example("Complete in every new fish", "{program} completion fish > ~/.config/fish/completions/{program}.fish"),
    ],
)
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """
    Print the script that completes commands, flags and their values in a shell.

    The command has to be on the PATH under the name that it was called by.
    """
    root = ctx.find_root()
    name = root.info_name or ""
    if " " in name:
        step = f"Load kubectl's own, and it asks us: source <(kubectl completion {shell})"
        raise Refusal("kubectl completes the words of its plugins itself", next_step=step)
    script = SHELLS[shell](root.command, {}, name, f"_{name}_COMPLETE".upper())
    click.echo(script.source())
