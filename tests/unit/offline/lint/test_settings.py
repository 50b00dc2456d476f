"""Settings of lint: files, validation, and flags that replace settings."""

from pathlib import Path

import pytest

from virtshape.offline.lint import RULES, Settings, SettingsError, get_settings
from virtshape.offline.lint.settings import Pattern

YAML = "lint:\n  target: kubevirt-1.6\n  ignore: [missing-reference]\n"
DEPRECATED_RULES = {"deprecated-field", "deprecated-reference", "deprecated-version"}
TOML = '[tool.virtshape.lint]\ntarget = "kubevirt-1.7"\nfail-on = "error"\n'


@pytest.fixture(autouse=True)
def _in_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()  # settings files above a repository are not read
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


def test_lint_settings_have_defaults_without_a_file() -> None:
    settings = get_settings()
    assert (settings.content.target, settings.content.fail_on) == ("virtshape", "warning")
    assert settings.rules == set(RULES)


def test_nearest_lint_settings_file_is_read() -> None:
    write("pyproject.toml", TOML)
    write("vms/.virtshape.yaml", YAML)
    Path("vms/prod").mkdir()
    assert get_settings("vms/prod").content.target == "kubevirt-1.6"
    assert get_settings().content.target == "kubevirt-1.7"
    assert get_settings().content.fail_on == "error"


def test_yaml_settings_file_takes_precedence_over_toml() -> None:
    write("pyproject.toml", TOML)
    write(".virtshape.yaml", YAML)
    assert get_settings().content.target == "kubevirt-1.6"


def test_toml_file_without_lint_settings_is_ignored() -> None:
    write(".virtshape.yaml", YAML)
    write("sub/pyproject.toml", "[project]\nname = 'x'\n")
    assert get_settings("sub").content.target == "kubevirt-1.6"


def test_settings_file_above_the_repository_is_not_read() -> None:
    write(".virtshape.yaml", YAML)
    write("sub/.git/HEAD", "")
    assert get_settings("sub").content.target == "virtshape"


INVALID = {
    "unknown key": ("lint: {targets: [a]}", '.virtshape.yaml: unknown field "targets"'),
    "unknown section": ("lnt: {}", 'must be one object with the key "lint", not lnt'),
    "a list": ("- lint", 'must be one object with the key "lint"'),
    "not YAML": ("lint: [", ".virtshape.yaml:2:1: "),
    "wrong type": ("lint: {select: syntax}", ".virtshape.yaml: select: Expected"),
    "unknown target": ("lint: {target: kubevirt-0.1}", 'unknown target "kubevirt-0.1": must be one of virtshape, kube'),
    "unknown rule": ("lint: {ignore: [sytnax]}", 'unknown rule "sytnax"; did you mean "syntax"?'),
    "unknown pattern": (
        "lint: {per-file-ignores: {a: ['x-*']}}",
        'unknown rule "x-*"; `virtshape rule` lists all rules',
    ),
    "unknown level": ("lint: {fail-on: fatal}", "fail-on: Invalid enum value"),
}


@pytest.mark.parametrize(("text", "message"), INVALID.values(), ids=INVALID)
def test_invalid_lint_settings_are_rejected(text: str, message: str) -> None:
    write(".virtshape.yaml", text)
    with pytest.raises(SettingsError) as refusal:
        get_settings()
    assert message in str(refusal.value.message)


def test_invalid_toml_settings_file_is_rejected() -> None:
    write("pyproject.toml", "[tool\n")
    with pytest.raises(SettingsError, match="is not valid TOML"):
        get_settings()


@pytest.mark.parametrize("text", ["tool = 1", "[tool]\nvirtshape = 1", "[tool.virtshape]\nother = 1"])
def test_toml_file_with_only_other_tables_is_ignored(text: str) -> None:
    write("pyproject.toml", text)
    assert get_settings() == Settings()


@pytest.mark.parametrize(("language", "name"), [("yaml", ".virtshape.yaml"), ("toml", "pyproject.toml")])
def test_documented_lint_settings_are_valid(language: str, name: str) -> None:
    document = Path(__file__).parents[4].joinpath("docs", "lint.md").read_text()
    write(name, document.partition(f"```{language}\n# {name}\n")[2].partition("```")[0])
    assert get_settings().content.target == "kubevirt-1.6"
    assert "vendor" in get_settings().content.exclude


def test_lint_flags_replace_settings() -> None:
    write(".virtshape.yaml", YAML)
    settings = get_settings().with_flags(target="kubevirt-1.8", ignore=(), select=("target-*",), catalog=False)
    assert settings.content.target == "kubevirt-1.8"
    assert settings.content.ignore == ("missing-reference",)
    assert settings.content.catalog is False
    assert settings.rules == {name for name in RULES if name.startswith("target-")}


def test_unknown_lint_rule_in_a_flag_is_refused() -> None:
    with pytest.raises(SettingsError, match='command line: unknown rule "syn"'):
        Settings().with_flags(select=("syn",))


def test_paths_in_settings_are_relative_to_their_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write(".virtshape.yaml", "lint: {exclude: [vms/old], baseline: ci/known.json}")
    Path("vms/old").mkdir(parents=True)
    monkeypatch.chdir("vms")
    settings = get_settings()
    assert settings.baseline == "../ci/known.json"
    assert [pattern.matches("old/a.yaml") for pattern in settings.excludes] == [True]


def test_paths_in_flags_are_relative_to_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    write(".virtshape.yaml", "lint: {}")
    Path("vms").mkdir()
    monkeypatch.chdir("vms")
    settings = get_settings().with_flags(exclude=("./old/*.yaml", "tmp"), baseline="known.json")
    assert settings.baseline == "known.json"
    assert [
        any(each.matches(path) for each in settings.excludes) for path in ("old/a.yaml", "tmp/b.yaml", "a.yaml")
    ] == [
        True,
        True,
        False,
    ]


def test_lint_rules_are_ignored_per_file() -> None:
    write(".virtshape.yaml", "lint:\n  per-file-ignores:\n    'legacy/**': [deprecated-*]\n    '*.json': [syntax]\n")
    settings = get_settings()
    assert settings.list_ignored("legacy/a/b.yaml") == DEPRECATED_RULES
    assert settings.list_ignored("./legacy/a.json") == DEPRECATED_RULES | {"syntax"}
    assert settings.list_ignored("a.yaml") == frozenset()


MATCHES = [
    ("vendor", "vendor/a.yaml", True),
    ("vendor", "x/vendor/a.yaml", True),
    ("vendor", "vendored/a.yaml", False),
    ("*.tpl.yaml", "x/a.tpl.yaml", True),
    ("charts/", "charts/a.yaml", True),
    ("charts/*/templates", "charts/web/templates/vm.yaml", True),
    ("charts/**", "charts/web/vm.yaml", True),
    ("charts/**", "x/charts/web/vm.yaml", False),
    ("a.yaml", "./a.yaml", True),
    ("tests/**/*.json", "tests/x/y.json", True),
]


@pytest.mark.parametrize(("glob", "path", "matches"), MATCHES)
def test_lint_file_pattern_matches_names_and_paths(glob: str, path: str, matches: bool) -> None:
    assert Pattern(glob).matches(path) is matches
