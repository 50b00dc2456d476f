"""Design the CPU model and CPU features."""

from typing import Final, Literal, NamedTuple, get_args

from virtshape.api.architecture import Architecture
from virtshape.api.kubevirt.domain import CPU, CPUFeature
from virtshape.launcher.design.context import DesignContext, is_on
from virtshape.launcher.domain.cpu import Cell, Cpu, Feature, Policy, Topology

_MODEL: Final = "spec.domain.cpu.model"
_FEATURES: Final = "spec.domain.cpu.features"
_HOST_MODES: Final[dict[str, Literal["host-model", "host-passthrough"]]] = {
    "host-model": "host-model",
    "host-passthrough": "host-passthrough",
}
_POLICIES: Final[tuple[Policy, ...]] = get_args(Policy)

# Models that QEMU emulates completely; on amd64, the newest such model that shows hyper-threads to the guest.
_STAND_INS: Final[dict[Architecture, str]] = {"amd64": "Westmere", "arm64": "max", "s390x": "max"}

# libvirt expects this feature in models that QEMU provides without it.
_DEPRECATED: Final = Feature("mpx", "disable")


class _Model(NamedTuple):
    mode: Literal["custom", "host-model", "host-passthrough"]
    name: str | None = None
    check: Literal["none"] | None = None


def design_cpu(context: DesignContext, topology: Topology, cells: tuple[Cell, ...]) -> Cpu:
    """Return the requested CPU; without KVM, an emulated model replaces host-model and host-passthrough."""
    asked = context.spec.domain.cpu or CPU()
    model = _design_model(context, asked.model or "host-model")
    features = _design_features(context, asked.features or [])
    named = model.mode == "custom" and model.name == asked.model
    if named and context.host.architecture == "amd64" and all(one.name != _DEPRECATED.name for one in features):
        features.append(_DEPRECATED)
    return Cpu(
        mode=model.mode,
        model=model.name,
        check=model.check,
        topology=topology,
        features=tuple(features),
        cells=cells,
    )


def _design_model(context: DesignContext, wanted: str) -> _Model:
    host = context.host
    if (mode := _HOST_MODES.get(wanted)) is not None:
        if host.kvm:
            return _Model(mode)
        stand_in = _STAND_INS[host.architecture]
        context.note(_MODEL, f"{wanted} needs KVM; the guest gets the model {stand_in} instead")
        return _Model("custom", stand_in)
    if wanted in host.cpu_models:
        return _Model("custom", wanted)
    if wanted in host.partial_cpu_models and not host.kvm:
        context.note(_MODEL, f"QEMU emulates {wanted} without some of its features")
        return _Model("custom", wanted, "none")
    known = ", ".join(sorted(host.cpu_models)) or "none"
    lacking = (
        "does not support all features of the CPU model"
        if wanted in host.partial_cpu_models
        else "does not know the CPU model"
    )
    context.refuse(_MODEL, f"this host {lacking} {wanted}; it supports: {known}")
    return _Model("custom", wanted)


def _design_features(context: DesignContext, asked: list[CPUFeature]) -> list[Feature]:
    features = []
    for index, one in enumerate(asked):
        policy = next((known for known in _POLICIES if known == (one.policy or "require")), None)
        if policy is None:
            context.refuse(
                f"{_FEATURES}[{index}].policy", f"unsupported value {one.policy}: use one of {', '.join(_POLICIES)}"
            )
            continue
        if policy == "require":
            _check_feature(context, f"{_FEATURES}[{index}].name", one.name)
        features.append(Feature(one.name, policy))
    if _needs_nesting(context) and all(one.name != "vmx" for one in features):
        features.append(Feature("vmx"))
    return features


def _check_feature(context: DesignContext, field: str, name: str) -> None:
    """Refuse a feature that QEMU does not support: without KVM, QEMU would silently ignore such a feature."""
    known = context.host.cpu_features
    if known and name not in known:
        context.refuse(field, f"this host does not support the CPU feature {name}")
    elif not known and not context.host.kvm:
        context.note(field, f"QEMU may not be able to emulate {name}: its features are unknown")


def _needs_nesting(context: DesignContext) -> bool:
    """Return True if the guest uses eVMCS, which needs nested virtualization."""
    features = context.spec.domain.features
    hyperv = features.hyperv if features is not None else None
    return hyperv is not None and is_on(hyperv.evmcs)
