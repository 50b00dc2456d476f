"""`virtshape schema`: print JSON Schemas of VMs, instance types and related kinds, for editors."""

import json

import click
from click.shell_completion import CompletionItem

from virtshape.api.kinds import KINDS
from virtshape.cli.command import Command, Example
from virtshape.cli.errors import ArgumentError, suggest


def complete_kind(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete the names of kinds."""
    known = dict.fromkeys(kind.kind for kind in KINDS)
    return [CompletionItem(name) for name in known if name.lower().startswith(incomplete.lower())]


def complete_version(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG001 - click's signature
    """Complete the API versions of the given kind or, without one, of all kinds that affect VMs."""
    from virtshape.offline.jsonschema import list_kinds

    known = dict.fromkeys(kind.api_version for kind in list_kinds(ctx.params.get("kind") or ""))
    return [CompletionItem(version) for version in known if version.startswith(incomplete)]


@click.command(
    "schema",
    cls=Command,
    short_help="Print the JSON Schema of a kind, for editors.",
    examples=[
        Example("Write the schema of all kinds to a file", "virtshape schema > .vscode/virtshape.schema.json"),
        Example("Print the schema of VMs", "virtshape schema VirtualMachine"),
        Example(
            "Print the schema of one version of a kind",
            "virtshape schema vmpref --api-version instancetype.kubevirt.io/v1beta1",
        ),
        Example(
            "List the fields of a VM's domain",
            "virtshape schema vm | jq -r '.definitions[\"io.kubevirt.v1.DomainSpec\"].properties | keys[]'",
        ),
    ],
)
@click.argument("kind", metavar="[KIND]", required=False, shell_complete=complete_kind)
@click.option(
    "--api-version",
    metavar="GROUP/VERSION",
    shell_complete=complete_version,
    help="Only this API version.  [default: all versions]",
)
def command(kind: str | None, api_version: str | None) -> None:
    """
    Print a JSON Schema (draft 7) with descriptions and enums, for editors such as VS Code with its YAML extension.

    KIND is the name of a kind in any spelling that kubectl accepts. Without it, the schema is for files with objects of
    several kinds: VMs, instances, instance types, preferences, flavors, DataVolumes, PVCs and all others that affect
    VMs. The schema accepts objects of other API groups without checking them.
    """
    # Imported here to keep `--help` fast.
    from virtshape.offline.jsonschema import build_schema, list_kinds

    versions = list_kinds(kind or "")
    if not versions:
        known = dict.fromkeys(name for each in KINDS for name in (each.kind, each.plural, *each.short_names))
        raise ArgumentError(f'unknown kind "{kind}"{suggest(kind or "", known)}')
    chosen = list_kinds(kind or "", api_version or "")
    if not chosen:
        served = ", ".join(dict.fromkeys(each.api_version for each in versions))
        raise ArgumentError(f'unknown API version "{api_version}": must be one of {served}')
    click.echo(json.dumps(build_schema(chosen, others=kind is None), indent=2, ensure_ascii=False))
