"""`virtshape argocd`: print the settings that Argo CD needs for VMs."""

import click

from virtshape.cli.command import Command, Example, output_choice, switch


@click.command(
    "argocd",
    cls=Command,
    short_help="Print Argo CD settings for VMs.",
    examples=[
        Example("Configure Argo CD for all applications", "virtshape argocd | kubectl apply --server-side -f -"),
        Example("Print the fields for the spec of one Application", "virtshape argocd -o application"),
        Example("Write values for the Helm chart argo-cd", "virtshape argocd -o helm > values.yaml"),
        Example("Also ignore changes that `virtctl start` and `stop` make", "virtshape argocd --ignore-run-strategy"),
        Example("Print the health check", "virtshape argocd -o lua"),
    ],
)
@output_choice(
    "configmap",
    "application",
    "helm",
    "lua",
    help="What to print: the ConfigMap argocd-cm, fields for an Application, Helm values, or the health check.",
)
@click.option("-n", "--namespace", default="argocd", show_default=True, help="Namespace of Argo CD.")
@switch(
    "--ignore-run-strategy",
    default=False,
    help="Also ignore spec.runStrategy and spec.running, which `virtctl start` and `stop` change.",
)
def command(output: str, namespace: str, ignore_run_strategy: bool) -> None:
    """
    Print the VM fields that Argo CD must ignore, and a health check for VMs in Lua.

    The ignored fields are those that the server sets or replaces: the revisions of the instance type and preference,
    inferFromVolume, and the UUID and serial number of the firmware. The health check reports a VM as healthy if it is
    running and ready, as suspended if it is stopped or paused on purpose, and as degraded if it cannot start.
    """
    # Imported here to keep `--help` fast.
    from virtshape.cli.output import print_object
    from virtshape.offline.argocd import build_config_map, build_ignored, build_settings, read_health_check

    match output:
        case "lua":
            click.echo(read_health_check(), nl=False)
        case "application":
            print_object(build_ignored(run_strategy=ignore_run_strategy))
        case "helm":
            print_object({"configs": {"cm": build_settings(run_strategy=ignore_run_strategy)}})
        case _:
            print_object(build_config_map(namespace, run_strategy=ignore_run_strategy))
