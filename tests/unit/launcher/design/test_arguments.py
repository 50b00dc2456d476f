"""QEMU arguments that libvirt has no element for."""

import pytest
from tests.support.domains import design_guest, list_refusals


@pytest.mark.parametrize(
    ("annotations", "arguments"),
    [
        pytest.param(None, (), id="nothing"),
        pytest.param(
            {"kubevirt.io/ignitiondata": '{"ignition": {"version": "3.4.0"}, "passwd": {}}'},
            ("-fw_cfg", "name=opt/com.coreos/config,file=/guest/ignition.json"),
            id="ignition data",
        ),
        pytest.param({"kubevirt.io/ignitiondata": "{}"}, (), id="empty ignition data"),
    ],
)
def test_ignition_data_becomes_a_qemu_argument_unless_it_is_empty(
    annotations: dict[str, str] | None, arguments: tuple[str, ...]
) -> None:
    design = design_guest(annotations=annotations)
    assert design.domain.arguments == arguments
    assert design.refusals == ()


def test_hook_sidecar_annotation_is_refused() -> None:
    refusals = list_refusals(design_guest(annotations={"hooks.kubevirt.io/hookSidecars": "[]"}))
    assert refusals == {"metadata.annotations[hooks.kubevirt.io/hookSidecars]": "hook sidecars are not supported"}


def test_ignition_data_is_passed_as_a_file() -> None:
    design = design_guest(annotations={"kubevirt.io/ignitiondata": '{"ignition": {}, "secret": "\x01"}'})
    assert design.files == {"/guest/ignition.json": '{"ignition": {}, "secret": "\x01"}'}
    assert "secret" not in " ".join(design.domain.arguments)
