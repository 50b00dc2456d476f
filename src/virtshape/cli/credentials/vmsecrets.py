"""The Secrets with credentials of a VM: which Secrets the VM refers to, and which of them commands may change."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from virtshape.cli.command import switch
from virtshape.cli.connection import Session
from virtshape.cli.errors import CommandError
from virtshape.cli.vm import explain_vm_error

if TYPE_CHECKING:
    from virtshape.api.core.config import Secret
    from virtshape.api.kubevirt.credentials import AccessCredential
    from virtshape.api.kubevirt.virtualmachine import VirtualMachine

user_option = click.option("-u", "--user", required=True, help="Name of the user in the guest.")
secret_option = click.option("--secret", help="Name of the Secret, if the VM refers to several.")
force_option = switch("--force", default=False, help="Change the Secret even if it does not belong to the VM.")


async def get_vm(session: Session, name: str) -> "VirtualMachine":
    """Return the VM with this name; raise CommandError if it cannot be read."""
    from virtshape.api.kubevirt.virtualmachine import VirtualMachine
    from virtshape.api.status import StatusError

    try:
        return await session.client.get(VirtualMachine, name, session.namespace)
    except StatusError as error:
        raise await explain_vm_error(session, name, "credentials", error) from error


def list_credentials(vm: "VirtualMachine") -> "Sequence[AccessCredential]":
    """Return the VM's access credentials."""
    spec = vm.spec.template.spec
    return (spec.access_credentials if spec is not None else None) or ()


def list_ssh_secrets(vm: "VirtualMachine", user: str) -> list[str]:
    """Return the names of the Secrets whose keys the guest agent sets for the user."""

    def find() -> Iterator[str]:
        for credential in list_credentials(vm):
            key = credential.ssh_public_key
            agent = key.propagation_method.qemu_guest_agent if key else None
            if key and key.source.secret and agent and user in (agent.users or ()):
                yield key.source.secret.secret_name

    return list(find())


def list_password_secrets(vm: "VirtualMachine") -> list[str]:
    """Return the names of the Secrets whose passwords the guest agent sets."""
    return [
        password.source.secret.secret_name
        for credential in list_credentials(vm)
        if (password := credential.user_password)
        and password.source.secret
        and password.propagation_method.qemu_guest_agent is not None
    ]


def choose_secret(secrets: Sequence[str], wanted: str | None) -> str:
    """Return the wanted name, or else the only name in `secrets`; raise CommandError if there is no such name."""
    if wanted and wanted not in secrets:
        raise CommandError(f"secret {wanted} was not assigned", [f"assigned: {name}" for name in secrets])
    if not wanted and len(secrets) > 1:
        message = "multiple secrets specified, use option --secret to specify which secret to modify"
        raise CommandError(message, secrets)
    return wanted or secrets[0]


async def get_secret(session: Session, name: str) -> "Secret":
    """Return the Secret with this name."""
    from virtshape.api.core.config import Secret

    return await session.client.get(Secret, name, session.namespace)


def require_ownership(secret: "Secret", vm: "VirtualMachine") -> None:
    """Raise CommandError if the Secret does not belong to the VM, because other VMs may use it too."""
    own = ("VirtualMachine", vm.metadata.name, vm.metadata.uid)
    if not any((owner.kind, owner.name, owner.uid) == own for owner in secret.metadata.owner_references or ()):
        message = f"secret {secret.metadata.name} does not have an owner reference pointing to VM {vm.metadata.name}"
        raise CommandError(
            message, next_step="Use --force if no other VM uses the Secret, or if the change is meant for all of them."
        )


async def change_secret(session: Session, secret: "Secret", values: Mapping[str, str | None]) -> None:
    """Set values of the Secret and remove those that are None; raise StatusError 409 on a conflict."""
    from base64 import b64encode

    from virtshape.api.core.config import Secret

    data = {key: value if value is None else b64encode(value.encode()).decode() for key, value in values.items()}
    patch = {"metadata": {"resourceVersion": secret.metadata.resource_version}, "data": data}
    await session.client.patch(Secret, secret.metadata.name or "", session.namespace, patch=patch)
