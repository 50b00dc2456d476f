"""KubeVirt's functional specs of instance types and preferences, with guests in real pods."""

from concurrent.futures import Future

from tests.support.kubevirt import SpecResults


def test_all_kubevirt_specs_pass(specs: Future[SpecResults]) -> None:
    results = specs.result()
    assert len(results.names) > 50, results.output
    assert results.failed == frozenset(), results.output
