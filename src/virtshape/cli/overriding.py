"""
Flags that are said in place of a kubeconfig's words: `--server`, `--token`, `--as` and their like, as kubectl has them.

With them are those that say how a server is asked, whichever it is. Every command takes them all, and `virtctl options`
lists them; the commands' own help does not.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from virtshape.cli.command import WholeNumber, switch
from virtshape.cli.period import Period

if TYPE_CHECKING:
    from virtshape.client.overrides import Overrides

F = TypeVar("F", bound=Callable[..., Any])


class Flag(NamedTuple):
    """One of them; without a metavar it takes no value."""

    names: tuple[str, ...]
    metavar: str
    help: str
    again: bool = False
    """Whether it may be given again."""
    type: Any = None
    """What its value is, if it is no plain text."""


FLAGS: Final = {
    "cluster": Flag(("--cluster",), "NAME", "Cluster of the kubeconfig, in place of the context's."),
    "user": Flag(("--user",), "NAME", "User of the kubeconfig, in place of the context's."),
    "server": Flag(("-s", "--server"), "URL", "Address of the server, in place of the cluster's."),
    "certificate_authority": Flag(
        ("--certificate-authority",), "FILE", "Certificate that the server's is signed with, in place of the cluster's."
    ),
    "insecure_skip_tls_verify": Flag(
        ("--insecure-skip-tls-verify",), "", "Do not check who the server is: others can then listen and answer."
    ),
    "tls_server_name": Flag(("--tls-server-name",), "NAME", "Name that the server's certificate is for."),
    "token": Flag(("--token",), "TOKEN", "Token to show who is asking, in place of the user's secrets."),
    "client_certificate": Flag(
        ("--client-certificate",), "FILE", "Certificate to show who is asking; goes with --client-key."
    ),
    "client_key": Flag(("--client-key",), "FILE", "Key of that certificate."),
    "as_": Flag(("--as",), "USER", "User to act as, by those who may."),
    "as_uid": Flag(("--as-uid",), "UID", "UID to act with."),
    "as_group": Flag(("--as-group",), "GROUP", "Group to act in; may be given again.", again=True),
    "request_timeout": Flag(
        ("--request-timeout",),
        "PERIOD",
        "How long an answer may take, such as 45s or 2m; 0 for as long as it likes. A minute unless said.",
        type=Period(),
    ),
    "verbosity": Flag(
        ("-v", "--v"),
        "LEVEL",
        "What to tell of requests on standard error: from 6 on what was asked and answered and how long it took, from "
        "8 on bodies too; never a token.",
        type=WholeNumber(-(2**31), 2**31 - 1),
    ),
}
_FILES: Final = ("certificate_authority", "client_certificate", "client_key")


def declare_overrides(
    function: F,
    remember: Callable[..., None],
    completers: Mapping[str, Callable[..., Any]],
    *,
    without: Collection[str] = (),
    hidden: bool = True,
) -> F:
    """Declare the flags but for some; `remember` is called with the value of each."""
    for name, flag in reversed(FLAGS.items()):
        if name in without:
            continue
        if flag.metavar:
            declare = partial(
                click.option,
                metavar=flag.metavar,
                multiple=flag.again,
                type=flag.type,
                shell_complete=completers.get(name),
            )
        else:
            declare = partial(switch, default=None)
        option = declare(*flag.names, name, expose_value=False, callback=remember, hidden=hidden, help=flag.help)
        function = option(function)
    return function


def read_overrides(said: Mapping[str, Any]) -> "Overrides":
    """What was said in place of a kubeconfig's words, for those who know how a server is reached."""
    from virtshape.client.overrides import Overrides

    return Overrides(**{name: value for name, value in said.items() if name in Overrides.__struct_fields__})


def write_flags(said: Mapping[str, Any]) -> list[str]:
    """The same flags as words of a command line, for a command that is run elsewhere."""
    words = []
    for name, value in said.items():
        flag = FLAGS[name]
        for one in value if flag.again else [value]:
            text = Path(one).absolute() if name in _FILES else one
            words.append(f"{flag.names[-1]}={text if flag.metavar else str(text).lower()}")
    return words
