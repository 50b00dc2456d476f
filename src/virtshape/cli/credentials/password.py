"""`virtctl credentials set-password`: set the password of a user in a guest."""

import sys
from functools import partial
from pathlib import Path

import click

from virtshape.cli.command import Command, Example
from virtshape.cli.connection import Session, Target, connection_options, run_session
from virtshape.cli.credentials.vmsecrets import (
    change_secret,
    choose_secret,
    force_option,
    get_secret,
    get_vm,
    list_password_secrets,
    require_ownership,
    secret_option,
    user_option,
)
from virtshape.cli.errors import CommandError
from virtshape.cli.vm import parse_vm_name, vm_argument


@click.command(
    "set-password",
    cls=Command,
    short_help="Set the password of a user of a VM.",
    examples=[
        Example("Set a password", "virtctl credentials set-password web --user jdoe --password-file password.txt"),
        Example(
            "Set a password in a Secret that several VMs use",
            "virtctl credentials set-password web --user jdoe --password-file - --secret logins --force",
        ),
    ],
)
@vm_argument
@user_option
@click.option("-p", "--password", help="The password. Other users of this machine can see it while the command runs.")
@click.option(
    "--password-file",
    type=click.Path(allow_dash=True),
    metavar="FILE",
    help="File with the password, or - for standard input, instead of --password.",
)
@secret_option
@force_option
@partial(connection_options, without=("user",))
def command(
    *,
    name: str,
    user: str,
    password: str | None,
    password_file: str | None,
    secret: str | None,
    force: bool,
    target: Target,
) -> None:
    """
    Set the password of a user in the guest of the VM NAME.

    The VM must have access credentials with a Secret that contains passwords, for example from
    `virtctl create vm --access-cred type:password,src:SECRET`. The guest agent sets the password in the running guest.
    """
    vm_name = parse_vm_name(name)
    text = read_password(password, password_file)

    async def set_password(session: Session) -> str:
        vm = await get_vm(session, vm_name)
        secrets = list_password_secrets(vm)
        if not secrets:
            step = (
                "Add accessCredentials to the VM; to see an example: virtctl create vm --access-cred type:password,..."
            )
            raise CommandError("no secrets assigned to UserPassword AccessCredentials", next_step=step)
        found = await get_secret(session, choose_secret(secrets, secret))
        if not force:
            require_ownership(found, vm)
        await change_secret(session, found, {user: text})
        return found.metadata.name or ""

    click.echo(f'Successfully set password in secret "{run_session(target, set_password)}"')


def read_password(password: str | None, file: str | None) -> str:
    """Return the password that the flags specify; remove newlines at the end of a password file."""
    if (password is None) == (file is None):
        raise click.UsageError("exactly one of --password and --password-file is required", click.get_current_context())
    if file is None:
        text = password or ""
    elif file == "-":
        text = sys.stdin.read().rstrip("\r\n")
    else:
        text = Path(file).read_text().rstrip("\r\n")
    if not text:
        raise click.UsageError("the password is empty", click.get_current_context())
    return text
