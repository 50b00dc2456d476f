"""Validate and adjust the instance type, flavor and preference matchers of a VM; updates depend on the old values."""

from collections.abc import Iterator

from virtshape.api.codec import to_tree
from virtshape.api.fielderror import FieldError
from virtshape.api.kubevirt.virtualmachine import FlavorMatcher, VirtualMachine
from virtshape.resolve.matcher import (
    KINDS,
    Matcher,
    Role,
    check_sole_size,
    find_full_kind,
    find_matcher,
    find_status_ref,
)

ROLES: tuple[Role, ...] = ("instancetype", "flavor", "preference")
POLICIES = ("Reject", "Ignore")
_RULE = "invalid-matcher"


def check_matchers(vm: VirtualMachine, old: VirtualMachine | None = None) -> list[FieldError]:
    """Return all violations in the matchers of a VM; `old` is the VM that an update replaces."""
    causes: list[FieldError] = []
    for role in ROLES:
        matcher = find_matcher(vm, role)
        if matcher is not None:
            causes += _check_matcher(matcher, role)
            causes += _check_change(matcher, find_matcher(old, role) if old else None, role)
    ambiguous = check_sole_size(vm)
    return [*causes, ambiguous] if ambiguous else causes


def _check_matcher(matcher: Matcher, role: Role) -> Iterator[FieldError]:
    if isinstance(matcher, FlavorMatcher):
        if not matcher.name:
            message = f"Name should be provided within the {KINDS[role].label}"
            yield FieldError(f"spec.{role}", message, "FieldValueNotFound", _RULE)
        return
    if not matcher.name and not matcher.infer_from_volume:
        message = f"Either Name or InferFromVolume should be provided within the {KINDS[role].label}"
        yield FieldError(f"spec.{role}", message, "FieldValueNotFound", _RULE)
    if matcher.infer_from_volume:
        if matcher.name:
            message = "Name already set, should be cleared before setting inferFromVolume"
            yield FieldError(f"spec.{role}.name", message, "FieldValueNotSupported", _RULE)
        if matcher.kind:
            message = "Kind already set, should be cleared before setting inferFromVolume"
            yield FieldError(f"spec.{role}.kind", message, "FieldValueNotSupported", _RULE)
    policy = matcher.infer_from_volume_failure_policy
    if policy is not None and policy not in POLICIES:
        message = f"Invalid value '{policy}' for InferFromVolumeFailurePolicy, use {' or '.join(POLICIES)}"
        yield FieldError(f"spec.{role}.inferFromVolumeFailurePolicy", message, rule=_RULE)


def _check_change(matcher: Matcher, old: Matcher | None, role: Role) -> Iterator[FieldError]:
    """Yield an error if the name changed but the revision is the same, because a revision belongs to one object."""
    if old is None or not matcher.revision_name or matcher.revision_name != old.revision_name:
        return
    if (matcher.name or "") != (old.name or ""):
        message = (
            f"the Matcher name has been updated without updating the RevisionName: "
            f"remove spec.{role}.revisionName to use the current {matcher.name or 'inferred object'}"
        )
        yield FieldError(f"spec.{role}.revisionName", message, rule=_RULE)


def clear_captured_revisions(vm: VirtualMachine, old: VirtualMachine) -> None:
    """
    Remove revision names that the controller wrote for an object to which the VM no longer refers.

    If the matcher becomes empty, remove the matcher too: server-side apply removes only the fields that the user owns.
    """
    for role in ROLES:
        matcher, before, ref = find_matcher(vm, role), find_matcher(old, role), find_status_ref(old, role)
        if matcher is None or before is None or ref is None or ref.controller_revision_ref is None:
            continue
        captured = ref.controller_revision_ref.name
        renamed = matcher.name != before.name or find_full_kind(matcher, role) != find_full_kind(before, role)
        if renamed and captured and matcher.revision_name == before.revision_name == captured:
            matcher.revision_name = None
            if to_tree(matcher) == {}:
                setattr(vm.spec, role, None)


def keep_inferred(vm: VirtualMachine, old: VirtualMachine) -> list[FieldError]:
    """
    Preserve inferred names if a manifest that asks for inference is applied again; return a warning for each name.

    A client that applies such a manifest sends inferFromVolume together with the unchanged inferred name.
    """
    warnings = []
    for role in ROLES:
        matcher, before = find_matcher(vm, role), find_matcher(old, role)
        if matcher is None or before is None or isinstance(matcher, FlavorMatcher) or not matcher.infer_from_volume:
            continue
        if matcher.name and (matcher.name, matcher.kind) == (before.name, before.kind):
            matcher.infer_from_volume = matcher.infer_from_volume_failure_policy = None
            advice = f"remove spec.{role}.name and spec.{role}.kind to infer it again"
            message = f"spec.{role}: {matcher.name} was inferred before and is kept; {advice}"
            warnings.append(FieldError(f"spec.{role}", message, rule="inference-kept"))
    return warnings
