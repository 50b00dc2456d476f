"""
Global flags that override the kubeconfig (`--server`, `--token`, `--as`) or control requests, as in kubectl.

Every command accepts them. `virtctl options` lists them; the help of commands does not.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import click

from virtshape.cli.command import Integer, switch
from virtshape.cli.paramtypes import Duration

if TYPE_CHECKING:
    from virtshape.client.overrides import Overrides

F = TypeVar("F", bound=Callable[..., Any])


class Flag(NamedTuple):
    """A global flag; a flag without a metavar is a boolean."""

    names: tuple[str, ...]
    metavar: str
    help: str
    again: bool = False
    """Whether the flag can be repeated."""
    type: Any = None
    """The click type of the flag's value; text by default."""


FLAGS: Final = {
    "cluster": Flag(("--cluster",), "NAME", "Kubeconfig cluster, instead of the context's."),
    "user": Flag(("--user",), "NAME", "Kubeconfig user, instead of the context's."),
    "server": Flag(("-s", "--server"), "URL", "Server URL, instead of the cluster's."),
    "certificate_authority": Flag(
        ("--certificate-authority",), "FILE", "CA certificate file for the server, instead of the cluster's."
    ),
    "insecure_skip_tls_verify": Flag(
        ("--insecure-skip-tls-verify",), "", "Do not verify the server's certificate. This is insecure."
    ),
    "tls_server_name": Flag(("--tls-server-name",), "NAME", "Name to expect in the server's certificate."),
    "token": Flag(("--token",), "TOKEN", "Bearer token, instead of the user's credentials."),
    "client_certificate": Flag(("--client-certificate",), "FILE", "Client certificate file. Requires --client-key."),
    "client_key": Flag(("--client-key",), "FILE", "Client key file. Requires --client-certificate."),
    "as_": Flag(("--as",), "USER", "User to impersonate."),
    "as_uid": Flag(("--as-uid",), "UID", "UID to impersonate."),
    "as_group": Flag(("--as-group",), "GROUP", "Group to impersonate. Can be repeated.", again=True),
    "request_timeout": Flag(
        ("--request-timeout",),
        "DURATION",
        "Timeout of a request, such as 45s or 2m; 0 for no timeout. The default is 1m.",
        type=Duration(),
    ),
    "verbosity": Flag(
        ("-v", "--v"),
        "LEVEL",
        "Log level for requests on standard error: 6 logs each request, its status and duration; 8 also logs bodies. "
        "Tokens are never logged.",
        type=Integer(-(2**31), 2**31 - 1),
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
    """Declare the flags except those in `without`; `remember` is called with each value."""
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


def build_overrides(values: Mapping[str, Any]) -> "Overrides":
    """Return the flags that override the kubeconfig."""
    from virtshape.client.overrides import Overrides

    return Overrides(**{name: value for name, value in values.items() if name in Overrides.__struct_fields__})


def format_flags(values: Mapping[str, Any]) -> list[str]:
    """Return the flags as arguments for another command line."""
    # Imported here to keep `--help` fast.
    from pathlib import Path

    args = []
    for name, value in values.items():
        flag = FLAGS[name]
        for one in value if flag.again else [value]:
            text = Path(one).absolute() if name in _FILES else one
            args.append(f"{flag.names[-1]}={text if flag.metavar else str(text).lower()}")
    return args
