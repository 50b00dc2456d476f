"""
Names, labels and annotations of launcher pods, as in KubeVirt.

The functions are pure. The pod name derives from the instance, so that an instance never has two pods.
"""

import hashlib
from typing import Final

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.launcherpod import format_vmi_id
from virtshape.api.wellknown import CREATED_BY_LABEL, LAST_APPLIED, VM_NAME_LABEL, VMI_ID_LABEL

COMPONENT_LABEL: Final = "kubevirt.io"
LAUNCHER: Final = "virt-launcher"
DOMAIN_ANNOTATION: Final = "kubevirt.io/domain"
PAUSED_ANNOTATION: Final = "virtshape.io/paused"
"""Annotation of a pod: "true" if a user paused the guest."""
SELECTOR: Final = f"{COMPONENT_LABEL}={LAUNCHER}"
CONTAINER: Final = "compute"
MAX_LABEL_LENGTH: Final = 63
_MAX_NAME_LENGTH: Final = 253
_DROPPED_ANNOTATIONS: Final = (
    LAST_APPLIED,
    "container.apparmor.security.beta.kubernetes.io/",
    "container.seccomp.security.alpha.kubernetes.io/",
    "seccomp.security.alpha.kubernetes.io/",
)
"""Prefixes of annotations that are not copied to the pod; some would change the confinement of the pod."""


def name_pod(vmi: VirtualMachineInstance, purpose: str = LAUNCHER) -> str:
    """Return the name of the instance's pod for this purpose, with a hash of the instance's UID."""
    metadata = vmi.metadata
    mark = hashlib.sha256((metadata.uid or "").encode()).hexdigest()[:10]
    room = _MAX_NAME_LENGTH - len(purpose) - len(mark) - 2
    return f"{purpose}-{(metadata.name or '')[:room].rstrip('-.')}-{mark}"


def shorten_label(value: str) -> str:
    """Return a valid label value: the text itself or, if it is too long, its beginning and a hash."""
    if len(value) <= MAX_LABEL_LENGTH:
        return value
    mark = hashlib.sha256(value.encode()).hexdigest()[:10]
    return f"{value[: MAX_LABEL_LENGTH - len(mark) - 1].rstrip('-._')}-{mark}"


def list_labels(vmi: VirtualMachineInstance, component: str = LAUNCHER) -> dict[str, str]:
    """Return the labels of the instance's pod: the instance's own labels, and those that KubeVirt sets."""
    metadata = vmi.metadata
    selected = {VMI_ID_LABEL: format_vmi_id(metadata.name or "")} if component == LAUNCHER else {}
    return {
        **(metadata.labels or {}),
        **selected,
        COMPONENT_LABEL: component,
        CREATED_BY_LABEL: metadata.uid or "",
        VM_NAME_LABEL: shorten_label(metadata.name or ""),
    }


def list_annotations(vmi: VirtualMachineInstance) -> dict[str, str]:
    """Return the annotations of the instance's pod: the instance's own annotations, and those that tools expect."""
    metadata = vmi.metadata
    own = {
        key: value for key, value in (metadata.annotations or {}).items() if not key.startswith(_DROPPED_ANNOTATIONS)
    }
    return {
        **own,
        DOMAIN_ANNOTATION: metadata.name or "",
        "kubectl.kubernetes.io/default-container": CONTAINER,
    }
