"""Validate resource claims, and the GPUs, host devices and networks that use them (DRA)."""

from collections.abc import Iterator, Sequence
from typing import Final

from virtshape.admission.rules.checks import DUPLICATE
from virtshape.api.fielderror import VALUE_NOT_FOUND, VALUE_REQUIRED, FieldError
from virtshape.api.kubevirt.devices import GPU, HostDevice
from virtshape.api.kubevirt.instance import VirtualMachineInstanceResourceClaim, VirtualMachineInstanceSpec
from virtshape.api.kubevirt.network import Network
from virtshape.api.spelling import quote

_RULE: Final = "impossible-combination"


def check_claims(spec: VirtualMachineInstanceSpec, root: str) -> Iterator[FieldError]:
    """Check the resource claims, and the devices and networks that use them; `root` is the path of the guest's spec."""
    devices, networks = spec.domain.devices, spec.networks or ()
    known = {claim.name for claim in spec.resource_claims or ()}
    taken: dict[tuple[str, str], str] = {}
    yield from _check_listed(spec.resource_claims or (), f"{root}.resourceClaims")
    at = f"{root}.domain.devices"
    for index, gpu in enumerate(devices.gpus or ()):
        yield from _check_device("GPU", gpu, known, taken, f"{at}.gpus[{index}]")
    for index, device in enumerate(devices.host_devices or ()):
        yield from _check_device("HostDevice", device, known, taken, f"{at}.hostDevices[{index}]")
    gpus = devices.gpus or ()
    if any(gpu.claim_name for gpu in gpus) and any(gpu.device_name for gpu in gpus):
        reason = "contains both DRA and non-DRA GPUs; each GPU must be either DRA or non-DRA"
        yield FieldError(f"{at}.gpus", f"vmi.spec.domain.devices.gpus {reason}", rule=_RULE)
    if any(network.resource_claim is not None for network in networks):
        yield from _check_networks(spec, networks, known, taken, root)


def _check_listed(claims: Sequence[VirtualMachineInstanceResourceClaim], at: str) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        if claim.name in seen:
            message = f"duplicate resourceClaims name {quote(claim.name)}: rename or remove one"
            yield FieldError(f"{at}[{index}].name", message, DUPLICATE, rule="duplicate-name")
        seen.add(claim.name)
        if bool(claim.resource_claim_name) == bool(claim.resource_claim_template_name):
            reason = "must specify exactly one of resourceClaimName and resourceClaimTemplateName"
            yield FieldError(f"{at}[{index}]", f"{at}[{index}] {reason}", rule="one-of")


def _check_device(
    what: str, item: GPU | HostDevice, known: set[str], taken: dict[tuple[str, str], str], at: str
) -> Iterator[FieldError]:
    claim, request = item.claim_name or "", item.request_name or ""
    if not claim and not request:
        return
    if item.device_name:
        where = at.rpartition("[")[0].rpartition(".")[2]
        reason = f"vmi.spec.domain.devices.{where} contains {what}s with both deviceName and claimRequest"
        yield FieldError(f"{at}.claimName", f"{reason}: keep one of them", rule="one-of")
    yield from _check_request(f"DRA {what}", claim, request, at)
    if claim and claim not in known:
        reason = "must specify all claims used in vmi.spec.domain.devices.gpus and vmi.spec.domain.devices.hostDevices"
        message = f"vmi.spec.resourceClaims {reason}: there is no {quote(claim)}"
        yield FieldError(f"{at}.claimName", message, rule=_RULE)
    yield from _check_sole(claim, request, taken, at)


def _check_networks(
    spec: VirtualMachineInstanceSpec,
    networks: Sequence[Network],
    known: set[str],
    taken: dict[tuple[str, str], str],
    root: str,
) -> Iterator[FieldError]:
    bound = {item.name for item in spec.domain.devices.interfaces or () if item.sriov is not None}
    for index, network in enumerate(networks):
        if network.resource_claim is None:
            continue
        at = f"{root}.networks[{index}]"
        claim, request = network.resource_claim.claim_name or "", network.resource_claim.request_name or ""
        yield from _check_request("DRA network", claim, request, f"{at}.resourceClaim")
        if claim and claim not in known:
            reason = f"network references resourceClaim {quote(claim)} which is not defined in spec.resourceClaims"
            yield FieldError(f"{at}.resourceClaim.claimName", reason, VALUE_NOT_FOUND, rule=_RULE)
        if network.name not in bound:
            message = f"DRA network {quote(network.name)} requires an SR-IOV interface binding"
            yield FieldError(f"{root}.domain.devices.interfaces", message, rule=_RULE)
        yield from _check_sole(claim, request, taken, at)
    if any(network.multus is not None for network in networks):
        reason = "mixing Multus and DRA resourceClaim networks in the same VMI is not supported"
        yield FieldError(f"{root}.networks", reason, rule=_RULE)


def _check_request(what: str, claim: str, request: str, at: str) -> Iterator[FieldError]:
    for name, value in (("claimName", claim), ("requestName", request)):
        if not value:
            yield FieldError(f"{at}.{name}", f"{name} is required for {what}", VALUE_REQUIRED, rule="invalid-value")


def _check_sole(claim: str, request: str, taken: dict[tuple[str, str], str], at: str) -> Iterator[FieldError]:
    if not claim or not request:
        return
    first = taken.setdefault((claim, request), at)
    if first != at:
        message = f"duplicate claimName/requestName pair {quote(f'{claim}/{request}')}: {first} has it too"
        yield FieldError(at, message, DUPLICATE, rule="duplicate-name")
