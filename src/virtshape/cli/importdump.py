"""`virtshape import`: import VMs, instance types and preferences from files or from another cluster."""

from collections import Counter
from collections.abc import Iterator, Sequence

import click
from click.shell_completion import CompletionItem

from virtshape.api.kinds import find_kind
from virtshape.api.model import JsonObject
from virtshape.cli.command import Command, Example, output_choice, switch
from virtshape.cli.connection import Session, Target, complete_config_names, get_server, run_session
from virtshape.cli.drift import describe_change
from virtshape.cli.errors import ArgumentError, CommandError
from virtshape.cli.importer import Importer, Outcome
from virtshape.cli.importsource import read_cluster, read_files
from virtshape.cli.output import print_object, print_table
from virtshape.offline.files import Loaded
from virtshape.offline.importplan import describe_skipped_documents, plan_import

COLUMNS = ("NAMESPACE", "OBJECT", "RESULT", "DETAILS")
_SELECT_TARGET = "Select the server to import into with --to or --to-kubeconfig."


def complete_context(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the contexts in the kubeconfig of the source or of the target."""
    own = ctx.params.get("to_kubeconfig") if param.name == "destination" else ""
    return complete_config_names(own or ctx.params.get("kubeconfig") or "", "contexts", incomplete)


@click.command(
    "import",
    cls=Command,
    short_help="Import VMs, instance types and preferences from another cluster.",
    examples=[
        Example("Show what would be imported from a file", "virtshape import dump.yaml --dry-run"),
        Example(
            "Import objects that kubectl exported",
            "kubectl get vm,controllerrevision,vmclusterinstancetype -A -o yaml | virtshape import -",
        ),
        Example("Import from a cluster into the server of the current context", "virtshape import --context prod"),
        Example("Import one namespace without starting its VMs", "virtshape import dump.yaml -n shop --halted"),
        Example("Show every field that was changed or dropped", "virtshape import dump.yaml --fields"),
        Example(
            "List the objects that were not imported",
            "virtshape import dump.yaml -o json | jq '.[] | select(.result == \"failed\")'",
        ),
    ],
)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(allow_dash=True))
@click.option(
    "--context",
    metavar="NAME",
    default="",
    shell_complete=complete_context,
    help="Kubeconfig context of the cluster to read, instead of files.",
)
@click.option(
    "--kubeconfig",
    metavar="FILE",
    default="",
    type=click.Path(dir_okay=False),
    help="Path to the kubeconfig, instead of $KUBECONFIG or ~/.kube/config.",
)
@click.option(
    "--to",
    "destination",
    metavar="CONTEXT",
    default="",
    shell_complete=complete_context,
    help="Kubeconfig context of the server to import into, instead of the current one.",
)
@click.option(
    "--to-kubeconfig",
    metavar="FILE",
    default="",
    type=click.Path(dir_okay=False),
    help="Path to the kubeconfig of the server to import into.",
)
@click.option(
    "-n",
    "--namespace",
    metavar="NAMESPACE",
    default="",
    help="Import only the objects in this namespace and cluster-wide objects.",
)
@switch("--halted", default=False, help="Import VMs with the run strategy Halted, so that they do not start.")
@switch("--overwrite", default=False, help="Update existing objects that differ from the dump.")
@switch("--dry-run", default=False, help="Validate the objects on the server and report, without changing it.")
@switch("--fields", default=False, help="Print one row per changed or dropped field.")
@output_choice("table", "json", "yaml", help="Output format; json and yaml include all fields.")
def command(
    *,
    files: Sequence[str],
    context: str,
    kubeconfig: str,
    destination: str,
    to_kubeconfig: str,
    namespace: str,
    halted: bool,
    overwrite: bool,
    dry_run: bool,
    fields: bool,
    output: str,
) -> None:
    """
    Import the objects in files, or those of the cluster that --context names, into the server of the current context.

    Objects may be in any order, as YAML documents, JSON or Lists; `-` reads standard input. Namespaces, instance types,
    preferences, revisions, claims, DataVolumes and VMs are created in the order of their dependencies. Revisions keep
    their names and contents, so VMs start with the instance type that they used before. An existing object that differs
    is reported and not changed, unless --overwrite is given. The contents of volumes are not imported.

    Exit status: 0 success, 1 if an object cannot be imported or an existing one differs; the others are imported.
    """
    if bool(files) == bool(context):
        raise click.UsageError("specify either files or --context", click.get_current_context())
    target = Target(to_kubeconfig or kubeconfig, destination)
    loaded = read_files(files) if files else read_context(Target(kubeconfig, context), target, namespace)
    plan = plan_import(loaded.entries, namespace=namespace, halt=halted)
    plan.skipped.extend(describe_skipped_documents(loaded))
    if not plan.steps:
        raise CommandError("no object to import", [each.reason for each in plan.skipped[:1]])

    async def load(session: Session) -> list[Outcome]:
        return await Importer(session.client, dry_run=dry_run, overwrite=overwrite).run(plan)

    outcomes = run_session(target, load)
    print_outcomes(outcomes, output, fields=fields, dry_run=dry_run)
    failed = [each for each in outcomes if each.result in ("failed", "differs")]
    if failed:
        count = "1 object was" if len(failed) == 1 else f"{len(failed)} objects were"
        causes = [f"{describe_place(each)}: {each.message}" for each in failed]
        raise CommandError(f"{count} not imported", causes)


def read_context(source: Target, target: Target, namespace: str) -> Loaded:
    """Read the objects of a cluster; raise ArgumentError if it is also the target of the import."""
    if get_server(source)[0].server == get_server(target)[0].server:
        raise ArgumentError("--context names the server to import into", next_step=_SELECT_TARGET)

    async def read(session: Session) -> Loaded:
        return await read_cluster(session, namespace)

    return run_session(source, read)


def print_outcomes(outcomes: Sequence[Outcome], output: str, *, fields: bool, dry_run: bool) -> None:
    """Print the result for each object, and the number of objects for each result to standard error."""
    if output != "table":
        print_object([describe_outcome(outcome) for outcome in outcomes], output)
        return
    print_table(COLUMNS, [row for outcome in outcomes for row in list_rows(outcome, fields=fields)])
    counts = Counter(outcome.result for outcome in outcomes)
    text = ", ".join(f"{number} {result}" for result, number in counts.items())
    click.echo(f"dry run, nothing was changed: {text}" if dry_run else text, err=True)


def list_rows(outcome: Outcome, *, fields: bool) -> Iterator[list[str]]:
    """Return table rows for an object: one, or with `fields` one per message, changed field and dropped field."""
    row = [outcome.namespace, describe_object(outcome), outcome.result]
    texts = [outcome.message] if outcome.message else []
    if fields:
        texts += (f"changed {describe_change(change)}" for change in outcome.changes)
        texts += (f"dropped {dropped.field}: {dropped.reason}" for dropped in outcome.dropped)
    elif not texts:
        counts = {"changed": len(outcome.changes), "dropped": len(outcome.dropped)}
        texts = [", ".join(f"{number} {what}" for what, number in counts.items() if number)]
    return ([*row, text] for text in texts or [""])


def describe_object(outcome: Outcome) -> str:
    """Return an object in kubectl's form, such as `virtualmachine/web`."""
    kind = find_kind(outcome.api_version, outcome.kind)
    return f"{kind.singular if kind else outcome.kind.lower()}/{outcome.name}"


def describe_place(outcome: Outcome) -> str:
    """Return the kind, namespace and name of an object as text, for messages."""
    place = describe_object(outcome)
    return f"{outcome.namespace}/{place}" if outcome.namespace else place


def describe_outcome(outcome: Outcome) -> JsonObject:
    """Return the result for an imported object as a JSON object."""
    return {
        "apiVersion": outcome.api_version,
        "kind": outcome.kind,
        "namespace": outcome.namespace,
        "name": outcome.name,
        "result": outcome.result,
        "message": outcome.message,
        "changes": [change._asdict() for change in outcome.changes],
        "dropped": [dropped._asdict() for dropped in outcome.dropped],
    }
