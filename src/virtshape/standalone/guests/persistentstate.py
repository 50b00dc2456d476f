"""
What outlives an instance, as a persistent TPM and the variables of its firmware do: kept for its VM until that is gone.

Only directories; what is in them is their guests' business.
"""

import shutil
from collections.abc import Callable, Collection
from pathlib import Path

from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.meta import ObjectMeta
from virtshape.controllers.pods.state import has_state
from virtshape.controllers.runtime.ownerreferences import find_controller
from virtshape.launcher.node.directories import check_uid


class PersistentStates:
    """The directories of what is kept, each under the uid of the VM, or of an instance that has none."""

    def __init__(
        self, directory: Path, list_used: Callable[[], Collection[str]], find_vm: Callable[[str, str], str | None]
    ) -> None:
        """
        `list_used` names the directories that guests have which run.

        `find_vm` gives the uid of the VM of a namespace and a name, if there is one.
        """
        self._directory = directory
        self._find_vm = find_vm
        self._list_used = list_used
        self._gone: set[str] = set()

    def ensure(self, vmi: VirtualMachineInstance) -> str | None:
        """Where what is kept for an instance is; None if nothing is to be."""
        if not has_state(vmi.spec):
            return None
        place = self._directory / (self._find_owner(vmi) or check_uid((vmi.metadata or ObjectMeta()).uid or ""))
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        return str(place)

    def _find_owner(self, vmi: VirtualMachineInstance) -> str | None:
        """Return the uid of the VM that an instance belongs to; its owner reference alone is only a claim."""
        owner = find_controller(vmi.metadata)
        if owner is None or owner.kind != "VirtualMachine":
            return None
        uid = self._find_vm((vmi.metadata or ObjectMeta()).namespace or "", owner.name)
        return check_uid(uid) if uid is not None and uid == owner.uid else None

    def drop(self, uid: str) -> None:
        """Leave nothing of what was kept for a VM that is gone, as soon as no guest uses it any more."""
        if (self._directory / uid).exists():
            self._gone.add(uid)
        self.sweep()

    def keep_only(self, uids: Collection[str]) -> None:
        """Leave only what was kept for these."""
        kept = self._directory.iterdir() if self._directory.exists() else ()
        self._gone.update(path.name for path in kept if path.name not in uids)
        self.sweep()

    def sweep(self) -> None:
        """Remove what is neither wanted nor used."""
        if not self._gone:
            return
        used = set(self._list_used())
        for uid in list(self._gone):
            if str(self._directory / uid) not in used:
                shutil.rmtree(self._directory / uid, ignore_errors=True)
                self._gone.discard(uid)
