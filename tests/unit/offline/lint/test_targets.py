"""Lint for a KubeVirt release: versions, fields, values and catalog objects that it does not have."""

import pytest
from msgspec.structs import replace
from tests.support.linting import build_manifest, documents, instancetype, prescan, vm

from virtshape.api.kinds import KINDS
from virtshape.offline.lint import RULES, TARGETS, Finding, Linter
from virtshape.offline.lint.objectscan import scan_objects
from virtshape.offline.lint.targets import RELEASES, Target

V1BETA1 = "instancetype.kubevirt.io/v1beta1"


def lint(text: str, release: str = "1.8") -> list[Finding]:
    objects, _ = scan_objects([text.encode()])
    target = Target(f"kubevirt-{release}", lambda reference: objects.find(reference) is not None)
    return target.check_text(text.encode(), "vm.yaml", [])


def summarize(findings: list[Finding]) -> list[tuple[str, str]]:
    return [(each.rule, each.field) for each in findings]


def test_lint_targets_are_virtshape_and_each_kubevirt_release() -> None:
    assert ("virtshape", *(f"kubevirt-{release}" for release in RELEASES)) == TARGETS


EXTENSIONS = {
    "flavor": (vm(spec="flavor: {name: tiny}"), ["spec.flavor"]),
    "vCPUs": (vm(domain="memory: {guest: 1Gi}\ncpu: {guest: 2}"), ["spec.template.spec.domain.cpu.guest"]),
    "topology": (
        build_manifest(
            "VirtualMachineInstancetype",
            "cpu: {guest: 2, topology: {cores: 2}}\nmemory: {guest: 1Gi}",
            version=V1BETA1,
        ),
        ["spec.cpu.topology"],
    ),
    "checksum": (
        vm(
            spec="dataVolumeTemplates:\n- metadata: {name: a}\n  spec:\n    source: {http: {url: u, checksum: c}}\n"
            "    storage: {resources: {requests: {storage: 1Gi}}}"
        ),
        ["spec.dataVolumeTemplates[0].spec.source.http.checksum"],
    ),
}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("text", "fields"), EXTENSIONS.values(), ids=EXTENSIONS)
def test_extensions_of_virtshape_are_reported_for_every_release(text: str, fields: list[str], release: str) -> None:
    findings = lint(text, release)
    assert summarize(findings) == [("target-field", field) for field in fields]
    assert "(no release of KubeVirt has it)" in findings[0].message


ADDED = {
    "1.4": [("VirtualMachinePreference", "firmware: {preferredEfi: {}}")],
    "1.5": [("VirtualMachine", vm(domain="memory: {guest: 1Gi}\nioThreads: {supplementalPoolThreadCount: 2}"))],
    "1.7": [("VirtualMachinePreference", "requirements: {architecture: arm64}")],
    "1.6": [("VirtualMachine", vm(devices="panicDevices: [{model: isa}]"))],
    "1.9": [("VirtualMachine", vm(template="serviceAccountName: default"))],
}


@pytest.mark.parametrize(
    ("release", "kind", "text"),
    [pytest.param(release, *case, id=f"{case[0]} {release}") for release, cases in ADDED.items() for case in cases],
)
def test_field_is_reported_for_releases_that_do_not_have_it(release: str, kind: str, text: str) -> None:
    manifest = text if "kind:" in text else build_manifest(kind, text, version=V1BETA1)
    earlier = RELEASES[RELEASES.index(release) - 1]
    assert lint(manifest, release) == []
    (finding,) = lint(manifest, earlier)
    assert finding.rule == "target-field"
    assert f"KubeVirt {earlier} does not have the field" in finding.message
    assert f"it was added in KubeVirt {release}" in finding.message


SERVED = [
    ("instancetype.kubevirt.io/v1beta2", "VirtualMachineInstancetype", ""),
    ("instancetype.kubevirt.io/v1beta1", "VirtualMachineInstancetype", "1.3 1.4 1.5 1.6 1.7 1.8 1.9"),
    ("instancetype.kubevirt.io/v1alpha2", "VirtualMachineInstancetype", "1.3 1.4 1.5"),
    ("instancetype.kubevirt.io/v1alpha1", "VirtualMachineInstancetype", "1.3 1.4 1.5"),
    ("flavor.kubevirt.io/v1alpha1", "VirtualMachineFlavor", ""),
]


@pytest.mark.parametrize(("version", "kind", "releases"), SERVED)
def test_api_version_is_reported_for_releases_that_do_not_serve_it(version: str, kind: str, releases: str) -> None:
    text = build_manifest(kind, "cpu: {guest: 1}\nmemory: {guest: 1Gi}", version=version)
    for release in RELEASES:
        expected = [] if release in releases.split() else [("target-version", "apiVersion")]
        assert summarize(lint(text, release)) == expected
        assert all(each.message.endswith(f": use {V1BETA1}") for each in lint(text, release))


def test_missing_sizes_are_reported_for_a_kubevirt_release() -> None:
    assert summarize(lint(instancetype("{}"))) == [
        ("target-version", "apiVersion"),
        ("target-required", "spec.cpu"),
        ("target-required", "spec.memory"),
    ]


def test_value_is_reported_for_releases_that_refuse_it() -> None:
    waiting = vm(run="runStrategy: WaitAsReceiver")
    assert lint(waiting, "1.6") == []
    (finding,) = lint(waiting, "1.5")
    assert (finding.rule, finding.field) == ("target-value", "spec.runStrategy")
    assert finding.message == (
        "KubeVirt 1.5 refuses the value WaitAsReceiver: use one of Always, Halted, Manual, Once, RerunOnFailure"
    )


def test_common_instancetype_is_reported_if_the_release_does_not_install_it() -> None:
    text = vm(spec="instancetype: {name: d1.small}\npreference: {name: fedora}", domain="")
    assert lint(text, "1.8") == []
    assert summarize(lint(text, "1.7")) == [("target-catalog", "spec.instancetype.name")]


UNREPORTED = {
    "one in the files": documents(
        instancetype(name="d1.small").replace("v1beta2", "v1beta1"),
        vm(spec="instancetype: {name: d1.small}", domain=""),
    ),
    "one of the namespace": vm(spec="instancetype: {name: d1.small, kind: VirtualMachineInstancetype}"),
    "one that is not built in": vm(spec="instancetype: {name: own}"),
}


@pytest.mark.parametrize("text", UNREPORTED.values(), ids=UNREPORTED)
def test_instancetypes_that_are_not_built_in_are_not_reported(text: str) -> None:
    assert lint(text, "1.3") == []


def test_free_form_objects_and_other_groups_are_not_checked() -> None:
    text = vm(domain="memory: {guest: 1Gi}\nclock: {utc: {}, timer: {hpet: {present: false}}}")
    labelled = text.replace("  template:\n", "  template:\n    metadata: {labels: {a: b}, creationTimestamp: null}\n")
    assert lint(labelled, "1.3") == []
    assert lint("apiVersion: cdi.kubevirt.io/v1beta1\nkind: DataVolume\nmetadata: {name: a}\nspec: {x: 1}\n") == []


def test_field_with_a_finding_is_not_reported_again_for_the_target() -> None:
    text = vm(domain="memory: {guest: 1Gi}\nmemoory: {}")
    (finding,) = lint(text)
    known = replace(finding, rule="unknown-field")
    assert Target("kubevirt-1.8", lambda _: False).check_text(text.encode(), "vm.yaml", [known]) == [known]


def test_setting_without_effect_is_not_reported_for_a_kubevirt_target() -> None:
    head = "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: kubevirt}\n"
    text = f"{head}spec: {{configuration: {{migrations: {{bandwidthPerMigration: 1Gi}}}}}}".encode()
    found = Linter(prescan([text], catalog=False)).check_text(text, "kubevirt.yaml")
    assert [each.rule for each in found] == ["no-effect"]
    assert Target("kubevirt-1.8", lambda _: False).check_text(text, "kubevirt.yaml", found) == []


def test_instancetype_that_only_the_release_installs_is_not_reported_as_missing() -> None:
    text = vm(spec="instancetype: {name: gn1.xlarge}", domain="").encode()
    missing = Linter(prescan([text], catalog=True)).check_text(text, "vm.yaml")
    assert [each.rule for each in missing] == ["missing-reference"]
    assert Target("kubevirt-1.3", lambda _: False).check_text(text, "vm.yaml", missing) == []
    assert Target("kubevirt-1.3", lambda _: False, catalog=False).check_text(text, "vm.yaml", missing) == missing
    later = Target("kubevirt-1.5", lambda _: False).check_text(text, "vm.yaml", missing)
    assert sorted(each.rule for each in later) == ["missing-reference", "target-catalog"]


def test_every_kind_of_kubevirt_is_in_the_table_of_releases() -> None:
    kinds = {kind.kind for kind in KINDS if kind.api_version in ("kubevirt.io/v1", V1BETA1)}
    for kind in kinds:
        group = "kubevirt.io/v1" if kind in ("VirtualMachine", "VirtualMachineInstance", "KubeVirt") else V1BETA1
        text = f"apiVersion: {group}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{nonsense: 1}}\n"
        assert ("target-field", "spec.nonsense") in summarize(lint(text))
    assert {name for name in RULES if name.startswith("target-")} >= {"target-version", "target-field"}
