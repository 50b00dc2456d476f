"""
Check whether guests can have network namespaces on this host, by creating one in a child process.

`python -m virtshape.launcher.netns.probe USER GROUP GROUPS` prints the reason if a namespace cannot be created.
"""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from msgspec import Struct

from virtshape.launcher.host import Isolation
from virtshape.launcher.netns.kernel import has_default_route
from virtshape.launcher.netns.namespace import NamespaceError, enter_namespace
from virtshape.launcher.netns.pasta import find_pasta
from virtshape.launcher.node.account import Account
from virtshape.launcher.node.taps import open_tun_to_guests

TIMEOUT_SECONDS: Final = 20.0
NO_PASTA: Final = "pasta is missing: install the package passt"
NO_ROUTE: Final = "this host has no default route"
_ALLOW: Final = (
    "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0,"
    " kernel.apparmor_restrict_unprivileged_userns=0)"
)


class IsolationProbe(Struct, frozen=True):
    """How guests are isolated from the host and from each other."""

    isolation: Isolation
    reason: str = ""
    """Why guests cannot have network namespaces; empty if they can."""


def check_isolation(account: Account) -> IsolationProbe:
    """Return the isolation that guests of an account can have; blocks for a fraction of a second."""
    if find_pasta() is None:
        return IsolationProbe("restricted", NO_PASTA)
    with contextlib.suppress(OSError):  # on failure, pasta reports that it cannot open the device
        open_tun_to_guests(account)
    arguments = [str(account.user), str(account.group), ",".join(map(str, account.groups))]
    command = [sys.executable, "-P", "-m", __name__, *arguments]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return IsolationProbe("restricted", f"checking network namespaces failed: {error}")
    reason = run.stdout.strip() or ("" if run.returncode == 0 else run.stderr.strip()[-200:])
    return IsolationProbe("restricted", reason) if reason else IsolationProbe("namespace")


async def probe_isolation(account: Account) -> IsolationProbe:
    """Return the isolation that guests of an account can have, without blocking."""
    return await asyncio.to_thread(check_isolation, account)


def main(user: int, group: int, groups: list[int]) -> None:
    """Create a namespace as this user and print the error if that fails."""
    with tempfile.TemporaryDirectory(prefix="virtshape-netns-") as name:
        directory = Path(name)
        if os.geteuid() == 0 and user != 0:
            os.chown(directory, user, group)
            child = os.fork()  # the parent stays root, to remove the directory
            if child:
                os.waitpid(child, 0)
                return
            os.setgroups(groups)
            os.setresgid(group, group, group)
            os.setresuid(user, user, user)
            _try(directory)
            sys.stdout.flush()
            os._exit(0)
        _try(directory)


def _try(directory: Path) -> None:
    online = has_default_route()
    try:
        network = enter_namespace(directory, ())
    except NamespaceError as error:
        sys.stdout.write(f"{error}; {_ALLOW}")
        return
    _, failure = network.start()
    network.close()
    if failure and online:
        sys.stdout.write(f"starting pasta failed: {failure}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), [int(one) for one in sys.argv[3].split(",") if one])
