import pytest
import yaml
from tests.support.commands import call_virtshape

from virtshape.api.model import JsonObject
from virtshape.offline.argocd import build_config_map, build_ignored, build_settings, read_health_check


def print_settings(*arguments: str) -> str:
    outcome = call_virtshape("argocd", *arguments)
    assert outcome.status == 0, outcome.err
    return outcome.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], build_config_map("argocd")),
        (["-n", "gitops"], build_config_map("gitops")),
        (["--ignore-run-strategy"], build_config_map("argocd", run_strategy=True)),
        (["-o", "application"], build_ignored()),
        (["-o", "helm"], {"configs": {"cm": build_settings()}}),
    ],
    ids=["config map", "namespace", "run strategy", "application", "helm"],
)
def test_argocd_settings_are_printed_as_yaml(arguments: list[str], expected: JsonObject) -> None:
    assert yaml.safe_load(print_settings(*arguments)) == expected


def test_argocd_health_check_is_printed_as_lua() -> None:
    assert print_settings("-o", "lua") == read_health_check()
