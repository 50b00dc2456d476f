"""`virtshape`: the command for operators."""

import click

from virtshape.cli.command import Example
from virtshape.cli.errors import run
from virtshape.cli.group import SETTINGS, Entry, LazyGroup

ENTRIES = {
    "up": Entry("virtshape.cli.up", "Run the API server in this terminal."),
    "open": Entry("virtshape.cli.open", "Open the web console in a browser."),
    "down": Entry("virtshape.cli.down", "Stop a running server."),
    "doctor": Entry("virtshape.cli.doctor", "Check whether this machine can run guests."),
    "status": Entry("virtshape.cli.status", "Show the status of the server."),
    "user": Entry("virtshape.cli.user", "Manage users."),
    "image": Entry("virtshape.cli.image", "Manage disk images."),
    "launcher": Entry("virtshape.cli.launcher", "Run one guest."),
    "import": Entry("virtshape.cli.importdump", "Import VMs, instance types and preferences from another cluster."),
    "backup": Entry("virtshape.cli.backup", "Back up a server's data directory."),
    "check": Entry("virtshape.cli.check", "Check the integrity of the database."),
    "lint": Entry("virtshape.cli.lint", "Check VMs, instance types and preferences in files."),
    "rule": Entry("virtshape.cli.rule", "Explain a lint rule."),
    "schema": Entry("virtshape.cli.schema", "Print the JSON Schema of a kind, for editors."),
    "catalog": Entry("virtshape.cli.catalog", "Print the built-in instance types and preferences."),
    "matrix": Entry("virtshape.cli.matrix", "Show which instance types and preferences can be used together."),
    "argocd": Entry("virtshape.cli.argocd", "Print Argo CD settings for VMs."),
    "manifests": Entry("virtshape.cli.manifests", "Print the manifests for a cluster installation."),
    "uninstall": Entry("virtshape.cli.uninstall", "Remove virtshape from a cluster."),
    "webhook": Entry("virtshape.cli.webhook", "Run the admission and conversion webhook."),
    "controller": Entry("virtshape.cli.controller", "Run the VM controllers on a cluster."),
    "apiserver": Entry("virtshape.cli.apiserver", "Serve the subresource API on a cluster."),
    "console": Entry("virtshape.cli.webconsole", "Serve the web console for a cluster."),
    "console-server": Entry("virtshape.cli.webconsoleserver", "Serve the web console inside a cluster."),
    "completion": Entry("virtshape.cli.completion", "Print the shell completion script."),
    "version": Entry("virtshape.cli.version", "Print the version."),
}


@click.group(
    cls=LazyGroup,
    entries=ENTRIES,
    examples=[
        Example("Run the server in this terminal", "virtshape up"),
        Example("Check the manifests in a directory", "virtshape lint manifests/"),
        Example("List the available sizes", "virtshape catalog"),
    ],
    context_settings=SETTINGS,
)
def virtshape() -> None:
    """
    Run and check a server for virtual machines, instance types and preferences.

    Exit status: 0 success, 1 failure, 2 invalid command line, 130 interrupted.
    """


def main() -> int:
    """Run the command line of this process."""
    return run(virtshape, "virtshape")
