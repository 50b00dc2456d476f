"""`completion`: print a script that completes commands, flags and values in a shell."""

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from virtshape.cli.command import Command, Example
from virtshape.cli.errors import CommandError

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command(
    "completion",
    cls=Command,
    short_help="Print the shell completion script.",
    examples=[
        Example("Enable completion in the current bash", "source <({program} completion bash)"),
        Example("Enable completion in every new zsh", "{program} completion zsh >> ~/.zshrc"),
        Example(
            "Enable completion in every new fish",
            "{program} completion fish > ~/.config/fish/completions/{program}.fish",
        ),
    ],
)
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """
    Print a script that completes commands, flags and values in a shell.

    The command must be on the PATH, under the name that you called it by.
    """
    root = ctx.find_root()
    name = root.info_name or ""
    if " " in name:
        step = f"Load kubectl's completion script, which includes plugins: source <(kubectl completion {shell})"
        raise CommandError("kubectl completes its plugins itself", next_step=step)
    script = SHELLS[shell](root.command, {}, name, f"_{name}_COMPLETE".upper())
    click.echo(script.source())
