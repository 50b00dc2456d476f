"""Columns of namespaces, config maps, secrets, service accounts, roles, bindings and definitions."""

from virtshape.api.model import JsonObject
from virtshape.apiserver.encoding.columns.column import AGE, CREATED_AT, NAME, Cell, column, computed


def _count(*mappings: dict[str, str] | None) -> Cell:
    return sum(len(mapping or ()) for mapping in mappings)


def _count_elements(elements: list[JsonObject] | None) -> Cell:
    return len(elements or ())


def _show_role(kind: str | None, name: str | None) -> Cell:
    return f"{kind}/{name}"


def _show_users(subjects: list[JsonObject] | None) -> Cell:
    return ", ".join(subject["name"] for subject in subjects or () if subject.get("kind") == "User")


def _show_groups(subjects: list[JsonObject] | None) -> Cell:
    return ", ".join(subject["name"] for subject in subjects or () if subject.get("kind") == "Group")


def _show_accounts(subjects: list[JsonObject] | None) -> Cell:
    return ", ".join(
        f"{subject.get('namespace', '')}/{subject['name']}"
        for subject in subjects or ()
        if subject.get("kind") == "ServiceAccount"
    )


NAMESPACE = (NAME, column("Status", ".status.phase", "Active or Terminating."), AGE)
SECRET = (
    NAME,
    column("Type", ".type", "Secret type."),
    computed("Data", "Number of entries in the data.", _count, ".data"),
    AGE,
)
CONFIG_MAP = (NAME, computed("Data", "Number of entries in the data.", _count, ".data", ".binaryData"), AGE)
SERVICE_ACCOUNT = (NAME, computed("Secrets", "Number of secrets.", _count_elements, ".secrets"), AGE)
ROLE = (NAME, CREATED_AT)
BINDING = (
    NAME,
    computed("Role", "Role that is granted.", _show_role, ".roleRef.kind", ".roleRef.name"),
    AGE,
    computed("Users", "Users that the role is granted to.", _show_users, ".subjects").wide,
    computed("Groups", "Groups that the role is granted to.", _show_groups, ".subjects").wide,
    computed("ServiceAccounts", "Service accounts that the role is granted to.", _show_accounts, ".subjects").wide,
)
DEFINITION = (NAME, CREATED_AT)
