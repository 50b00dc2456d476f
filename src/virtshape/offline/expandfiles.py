"""
Expand all VMs in files with the instance types, preferences and other objects in these files.

Either every VM is expanded, or all problems are reported with their positions. Unknown fields are preserved.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from virtshape.api.codec import to_tree
from virtshape.api.fielderror import VALUE_DUPLICATE, FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.kubevirt import KubeVirt
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.status import StatusError
from virtshape.api.unknownfields import restore
from virtshape.engine.gitops import remove_server_fields
from virtshape.offline.expander import Expander
from virtshape.offline.files import Entry, find_duplicates
from virtshape.offline.problems import FileProblem, FilesError, locate, locate_causes
from virtshape.resolve.origins import Origin


class ExpandedVM(NamedTuple):
    """An expanded VM, the origins of its fields if they were requested, and warnings."""

    name: str
    tree: Any
    origins: list[Origin]
    warnings: list[str]


class Expansion(NamedTuple):
    """The expanded VMs, and warnings about the other objects in the files."""

    vms: list[ExpandedVM]
    warnings: list[str]


def expand_entries(
    entries: Sequence[Entry], *, catalog: bool, explain: bool = False, for_gitops: bool = False
) -> Expansion:
    """Expand every VM in place; raise FilesError with all problems if there are any."""
    vms = [entry for entry in entries if isinstance(entry.object, VirtualMachine)]
    others = [entry for entry in entries if not isinstance(entry.object, VirtualMachine)]
    problems = list(find_duplicates(others))
    configuration = _find_configuration(others, problems)
    expander = Expander((entry.object for entry in others), catalog=catalog, configuration=configuration)
    expanded = []
    for entry in vms:
        try:
            expanded.append(expand_entry(entry, expander, explain=explain, for_gitops=for_gitops))
        except StatusError as error:
            problems += locate_causes(entry.document, error)
    if problems:
        raise FilesError(problems)
    ignored = [f"{problem}; it has no effect" for entry in others for problem in entry.describe_unknown()]
    return Expansion(expanded, ignored)


def _find_configuration(entries: Sequence[Entry], problems: list[FileProblem]) -> KubeVirtConfiguration | None:
    found = [entry for entry in entries if isinstance(entry.object, KubeVirt)]
    for entry in found[1:]:
        message = f"{found[0].place} has a configuration too; keep one of them"
        problems.append(locate(entry.document, FieldError("spec.configuration", message, VALUE_DUPLICATE)))
    spec = found[0].object.spec if found else None
    return spec.configuration if spec else None


def expand_entry(entry: Entry, expander: Expander, *, explain: bool = False, for_gitops: bool = False) -> ExpandedVM:
    """Expand a VM, modifying the entry; with `for_gitops`, the result is a manifest for Git."""
    vm: VirtualMachine = entry.object
    name = vm.metadata.name
    origins: list[Origin] = []
    if explain:
        origins, advice = expander.explain_in_place(vm)
        origins += [
            Origin(field.problem.field, field.value, "VM", name)
            for field in entry.unknown
            if field.at[:2] == ("spec", "template")
        ]
    else:
        advice = expander.expand_in_place(vm, with_storage_class=for_gitops)
    warnings = [f"{entry.place}: {message}" for message in advice]
    warnings += [f"{problem}; it is kept unchanged" for problem in entry.describe_unknown()]
    tree = restore(to_tree(vm), entry.unknown)
    return ExpandedVM(name or entry.place, remove_server_fields(tree) if for_gitops else tree, origins, warnings)
