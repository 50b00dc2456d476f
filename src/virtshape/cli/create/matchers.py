"""
Which instance type and preference a new VM names, or the volume that they are inferred from.

Inference that nobody asked for is allowed to fail: it gets the policy Ignore.
"""

from typing import NamedTuple

from virtshape.cli.create.parameters import ParameterError, split_name
from virtshape.cli.create.volumes import Volumes


class Wish(NamedTuple):
    """What was asked for about an instance type or a preference; None is what nobody asked for."""

    name: str | None
    infer: bool | None
    infer_from: str | None

    @property
    def is_explicit_inference(self) -> bool:
        """Whether inference was asked for, so that it has to succeed."""
        return self.name is None and self.infer is not False and (self.infer is not None or self.infer_from is not None)


class Matcher(NamedTuple):
    """The fields that instance type and preference matchers share."""

    name: str | None = None
    kind: str | None = None
    infer_from_volume: str | None = None
    infer_from_volume_failure_policy: str | None = None


def read_matcher(text: str, kinds: tuple[str, str]) -> Matcher:
    """Read `name` or `kind/name`; without a kind it is the cluster-wide one."""
    kind, name = split_name(text)
    if kind and kind.lower() not in kinds:
        raise ParameterError(f'the kind "{kind}" is neither {kinds[0]} nor {kinds[1]}')
    return Matcher(name=name, kind=kind.lower() or None)


def infer_matcher(wish: Wish, volumes: Volumes) -> Matcher | None:
    """Infer from the volume that was named or boots first; None if nobody asked and nothing fits."""
    if wish.name is not None or wish.infer is False:
        return None
    if wish.is_explicit_inference:
        return Matcher(infer_from_volume=volumes.choose_source(wish.infer_from))
    try:
        return Matcher(
            infer_from_volume=volumes.choose_source(None),
            infer_from_volume_failure_policy="Ignore",
        )
    except ParameterError:
        return None
