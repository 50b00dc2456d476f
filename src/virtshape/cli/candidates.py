"""Instance types and preferences that a command considers, from a server, or from files and the built-in catalog."""

from collections.abc import Sequence
from typing import NamedTuple

from virtshape import catalog as builtin
from virtshape.admission.recommend import Offer
from virtshape.api.instancetype.preference import VirtualMachinePreferenceSpec
from virtshape.cli.connection import Session, Target, run_session
from virtshape.cli.expand import find_configuration
from virtshape.cli.localserver import NoServerError
from virtshape.cli.resolvedvm import ResolvedVM, find_vm, read_vm
from virtshape.cli.serverobjects import PLACE, ServerObjects
from virtshape.engine.lifecycle import read_lifecycle
from virtshape.engine.machinetype import DEFAULT_ARCHITECTURE, default_architecture
from virtshape.offline.files import Entry, affects_vms, load
from virtshape.offline.sources import get_source, is_source
from virtshape.resolve.find import instancetype_spec, preference_spec
from virtshape.resolve.matcher import KINDS

INSTANCETYPES = (KINDS["instancetype"].cluster, KINDS["instancetype"].namespaced)
PREFERENCES = (KINDS["preference"].cluster, KINDS["preference"].namespaced)


class Candidates(NamedTuple):
    """Instance types and preferences to consider, where they were read from, and the default architecture of VMs."""

    place: str
    entries: Sequence[Entry]
    with_catalog: bool
    architecture: str = DEFAULT_ARCHITECTURE
    vm: ResolvedVM | None = None
    """The VM that the recommendation is for, if one is given."""

    def list_offers(self) -> list[Offer]:
        """Return all instance types that are neither deprecated nor retired; files take precedence over the catalog."""
        objects = [entry.object for entry in self.entries]
        if self.with_catalog:
            objects += builtin.load()
        offers: dict[tuple[str, str], Offer | None] = {}
        for each in objects:
            spec = instancetype_spec(each)
            name = each.metadata.name or ""
            if spec is not None:
                is_active = read_lifecycle(each.metadata).state == "active"
                offers.setdefault((each.kind, name), Offer(each.kind, name, spec) if is_active else None)
        return [offer for offer in offers.values() if offer is not None]

    def find_preference(self, name: str, kind: str) -> VirtualMachinePreferenceSpec | None:
        """Return the spec of a preference; raise StatusError if it does not exist."""
        elsewhere = PLACE if self.place == PLACE else ""
        found = get_source(name, (kind,), self.entries, with_catalog=self.with_catalog, elsewhere=elsewhere)
        return preference_spec(found.object)


def get_candidates(
    target: Target, files: Sequence[str], *, with_preferences: bool, catalog: bool, for_vm: str | None = None
) -> Candidates:
    """Read instance types, and if requested preferences and a VM, from files, the catalog or the server."""
    if files or catalog:
        loaded = load(files, affects_vms if for_vm else is_source)
        loaded.raise_problems()
        entries = [entry for entry in loaded.entries if matches_namespace(entry, target.namespace)]
        places = [*(["the files"] if files else []), *(["the built-in catalog"] if catalog else [])]
        vm = None
        if for_vm is not None:
            vm = find_vm(entries, for_vm) if files else run_session(target, lambda session: read_vm(session, for_vm))
        return Candidates(" or ".join(places), entries, with_catalog=catalog, vm=vm)

    async def read(session: Session) -> Candidates:
        kinds = INSTANCETYPES + PREFERENCES if with_preferences else INSTANCETYPES
        entries = await ServerObjects(session).list_sources(kinds)
        configuration = await find_configuration(session) if with_preferences else None
        vm = await read_vm(session, for_vm) if for_vm is not None else None
        return Candidates(PLACE, entries, False, default_architecture(configuration), vm)

    try:
        return run_session(target, read, instead="--catalog uses the built-in catalog instead.")
    except NoServerError:
        if for_vm is not None:
            raise
        return Candidates("the built-in catalog", (), with_catalog=True)


def matches_namespace(entry: Entry, namespace: str) -> bool:
    """Return True if the object is in this namespace or is cluster-wide, or if no namespace is given."""
    stated = entry.object.metadata.namespace
    return not namespace or not stated or stated == namespace
