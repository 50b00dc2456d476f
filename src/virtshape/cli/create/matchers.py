"""
The instance type and preference matchers of a new VM.

If inference was not explicitly requested, the matcher has the failure policy Ignore, so that the VM is accepted even if
inference fails.
"""

from typing import NamedTuple

from virtshape.cli.create.parameters import ParameterError, split_name
from virtshape.cli.create.volumes import Volumes


class MatcherFlags(NamedTuple):
    """The flags of an instance type or preference; None for a flag that was not given."""

    name: str | None
    infer: bool | None
    infer_from: str | None

    @property
    def is_explicit_inference(self) -> bool:
        """Whether inference was requested, so that it must succeed."""
        return self.name is None and self.infer is not False and (self.infer is not None or self.infer_from is not None)


class Matcher(NamedTuple):
    """The fields that instance type and preference matchers share."""

    name: str | None = None
    kind: str | None = None
    infer_from_volume: str | None = None
    infer_from_volume_failure_policy: str | None = None


def read_matcher(text: str, kinds: tuple[str, str]) -> Matcher:
    """Parse `name` or `kind/name`; a name without a kind refers to a cluster-wide object."""
    kind, name = split_name(text)
    if kind and kind.lower() not in kinds:
        raise ParameterError(f'invalid kind "{kind}": must be {kinds[0]} or {kinds[1]}')
    return Matcher(name=name, kind=kind.lower() or None)


def infer_matcher(flags: MatcherFlags, volumes: Volumes) -> Matcher | None:
    """
    Return a matcher that infers from the given volume, or else from the first boot volume.

    Return None if a name is given or inference is disabled, or if inference was not requested and is not possible.
    """
    if flags.name is not None or flags.infer is False:
        return None
    if flags.is_explicit_inference:
        return Matcher(infer_from_volume=volumes.choose_source(flags.infer_from))
    try:
        return Matcher(
            infer_from_volume=volumes.choose_source(None),
            infer_from_volume_failure_policy="Ignore",
        )
    except ParameterError:
        return None
