"""
The library's main interface: expand, explain and lint VMs with objects in memory.

JSON input is decoded into new objects, so the caller's data is never modified.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from virtshape import catalog as builtin
from virtshape.api.codec import decode, encode
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.configuration import KubeVirtConfiguration
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import Model
from virtshape.api.status import StatusError
from virtshape.engine.conflicts import describe_conflicts
from virtshape.engine.draft import Trace
from virtshape.engine.expand import Shape, expand_vm
from virtshape.engine.machinetype import default_architecture
from virtshape.engine.storageclass import apply_storage_class
from virtshape.offline.objects import Objects
from virtshape.resolve.find import find_object, get_shape
from virtshape.resolve.infer import infer_matchers
from virtshape.resolve.matcher import INSTANCETYPE_GROUP, KINDS, find_matcher
from virtshape.resolve.origins import Origin, get_sources_of_fields, list_origins
from virtshape.resolve.reference import NotFoundError, Reference

if TYPE_CHECKING:
    from virtshape.offline.lint import Finding


class Explanation(NamedTuple):
    """The origin of each field of an expanded VM's template, and warnings."""

    origins: list[Origin]
    warnings: list[str]


class Expander:
    """
    Expands VMs with the given instance types, preferences and volume sources.

    >>> small = b'''{"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineClusterInstancetype",
    ...   "metadata": {"name": "small"}, "spec": {"cpu": {"guest": 2}, "memory": {"guest": "2048Mi"}}}'''
    >>> vm = b'''{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "web"},
    ...   "spec": {"runStrategy": "Always", "instancetype": {"name": "small"},
    ...            "template": {"spec": {"domain": {"devices": {}}}}}}'''
    >>> import json
    >>> expanded = json.loads(Expander([small]).expand(vm))
    >>> expanded["spec"]["template"]["spec"]["domain"]["memory"]
    {'guest': '2Gi'}

    With `catalog`, built-in objects are found too. `explain` returns the origin of each field.

    >>> origins = Expander(catalog=True).explain(vm.replace(b"small", b"u1.medium"))
    >>> [(origin.value, origin.description) for origin in origins if origin.field.endswith("memory.guest")]
    [('4Gi', 'instance type u1.medium')]

    A VM that cannot be expanded raises one StatusError with all causes.

    >>> clashing = vm.replace(b'"devices": {}', b'"devices": {}, "cpu": {"cores": 1}')
    >>> Expander([small]).expand(clashing)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    virtshape.api.status.StatusError: VM field(s) spec.template.spec.domain.cpu.cores conflicts with selected ...

    `lint` never raises: it returns everything that is wrong with a VM, with positions.

    >>> [(finding.rule, finding.line, finding.field) for finding in Expander([small]).lint(clashing)]
    [('instancetype-conflict', 3, 'spec.template.spec.domain.cpu.cores')]
    """

    def __init__(
        self,
        objects: Iterable[bytes | Model] = (),
        *,
        catalog: bool = False,
        configuration: KubeVirtConfiguration | None = None,
        architecture: str | None = None,
    ) -> None:
        self.objects = Objects(objects)
        self._lookup = self._find_built_in if catalog else self.objects.find
        self._has_catalog = catalog
        self._configuration = configuration
        self._architecture = architecture or default_architecture(configuration)

    def expand(self, vm_json: bytes) -> bytes:
        """Expand the VM with its instance type and preference; the argument and the result are JSON."""
        vm = decode(vm_json, VirtualMachine)
        self.expand_in_place(vm)
        return encode(vm)

    def explain(self, vm_json: bytes) -> list[Origin]:
        """Return the origin of each field of the expanded VM's template."""
        return self.explain_in_place(decode(vm_json, VirtualMachine)).origins

    def lint(self, vm_json: bytes) -> "list[Finding]":
        """Return everything that is wrong with the VM and its references, with positions."""
        # Imported here, because expansion does not need the lint rules.
        from virtshape.offline.lint import LintContext, Linter

        context = LintContext(self.objects, catalog=self._has_catalog, configuration=self._configuration)
        return Linter(context, self._architecture).check_text(vm_json, "<vm>")

    def expand_in_place(
        self, vm: VirtualMachine, trace: Trace | None = None, *, with_storage_class: bool = False
    ) -> list[str]:
        """
        Expand the VM in place and return warnings.

        As in KubeVirt, the preferred storage class is not part of the expansion: admission sets it in stored VMs. Set
        `with_storage_class` to apply the preferred class to a VM that is not stored.
        """
        warnings, shape = self._resolve(vm)
        preferred = shape.preference.volumes if shape.preference else None
        if with_storage_class and preferred is not None:
            apply_storage_class(vm, preferred)
        self._expand(vm, shape, trace)
        return warnings

    def explain_in_place(self, vm: VirtualMachine) -> Explanation:
        """Expand the VM in place; return the origin of each field of its template, and warnings."""
        warnings, shape = self._resolve(vm)
        sources, trace = get_sources_of_fields(vm, self._lookup), Trace()
        self._expand(vm, shape, trace)
        return Explanation(list_origins(vm, trace, sources), warnings)

    def suggest(self, error: NotFoundError) -> NotFoundError:
        """Return the error with a suggestion of known objects that have similar names."""
        missing = error.reference
        names = self.objects.names(missing.group, missing.kind, missing.namespace)
        if self._has_catalog and missing.group == INSTANCETYPE_GROUP:
            names += builtin.names(missing.kind)
        return error.suggest(list(dict.fromkeys(names)))

    def _resolve(self, vm: VirtualMachine) -> tuple[list[str], Shape]:
        if vm.kind != "VirtualMachine":
            raise StatusError(400, "BadRequest", f"expected a VirtualMachine, got a {vm.kind}")
        lookup = self._lookup
        try:
            return infer_matchers(vm, lookup), get_shape(vm, lookup)
        except StatusError as error:
            raise self._gather_errors(vm, error) from None

    def _gather_errors(self, vm: VirtualMachine, first: StatusError) -> StatusError:
        """Return one error for all of the VM's references that cannot be resolved, beginning with `first`."""
        errors = {first.message: first}
        for role in KINDS:
            matcher = find_matcher(vm, role)
            if matcher is not None and matcher.name:
                try:
                    find_object(vm, role, self._lookup)
                except StatusError as error:
                    errors.setdefault(error.message, error)
        reported = [self.suggest(error) if isinstance(error, NotFoundError) else error for error in errors.values()]
        if len(reported) == 1:
            return reported[0]
        reasons = [cause for error in reported for cause in error.causes or (FieldError("", error.message),)]
        return StatusError(first.code, first.reason, "; ".join(error.message for error in reported), reasons)

    def _expand(self, vm: VirtualMachine, shape: Shape, trace: Trace | None) -> None:
        conflicts = expand_vm(vm, shape, self._configuration, self._architecture, trace)
        if conflicts:
            raise StatusError(422, "Invalid", describe_conflicts(conflicts), conflicts)

    def _find_built_in(self, reference: Reference) -> Model | None:
        """Return a known object, or an object from the catalog, which is added to the known objects; otherwise None."""
        found = self.objects.find(reference)
        if found is None and reference.group == INSTANCETYPE_GROUP:
            found = builtin.find(reference.kind, reference.name)
            if found is not None:
                self.objects.add(found)
        return found
