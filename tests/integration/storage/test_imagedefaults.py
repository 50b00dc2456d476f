"""Default instance types and preferences of container images, from a registry on loopback."""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.containers import build_config, build_layer, serve_image
from tests.support.controllers import (
    ControlledSystem,
    CrashingClient,
    first_of,
    instancetype_tree,
    preference_tree,
    vm_tree,
)
from tests.support.storage import MIB, volume_tree, wait_for_event, wait_for_volume
from tests.support.webserver import Server, serve

from virtshape.api.core.claim import PersistentVolumeClaim
from virtshape.api.kubevirt.virtualmachine import VirtualMachine
from virtshape.api.model import JsonObject
from virtshape.api.status import StatusError
from virtshape.client.errors import UnreachableError
from virtshape.client.protocol import Client
from virtshape.client.resources import metadata_of
from virtshape.client.rest import RestClient
from virtshape.standalone.images import Default, NewImage, add_image
from virtshape.standalone.inprocesstransport import SYSTEM, InProcessTransport
from virtshape.standalone.server import Settings, assemble
from virtshape.standalone.storage.layout import Layout
from virtshape.standalone.storage.uploads import UploadDirectory

PREFIX = "instancetype.kubevirt.io/default-"
TYPE, PREFERENCE = f"{PREFIX}instancetype", f"{PREFIX}preference"
LAYER = build_layer({"disk/one.img": b"\xeb\x63".ljust(MIB, b"\0")})
TYPE_VARIABLE = "INSTANCETYPE_KUBEVIRT_IO_DEFAULT_INSTANCETYPE"
CONFIG = build_config(
    f"{TYPE_VARIABLE}=small", "INSTANCETYPE_KUBEVIRT_IO_DEFAULT_PREFERENCE=linux", **{TYPE: "from-label"}
)
INFER: JsonObject = {"inferFromVolume": "root"}


def ignore_warning(_: str) -> None:
    """Ignore a warning."""


@asynccontextmanager
async def open_importing_system(
    directory: Path, warn: Callable[[str], object] = ignore_warning
) -> AsyncIterator[ControlledSystem]:
    """Open a system with storage that may import from loopback, without running controllers."""
    directory.mkdir(exist_ok=True)
    (directory / "config.yaml").write_text("imports: {allowedNetworks: [127.0.0.0/8]}\n")
    settings = Settings(directory=directory, port=0, catalog=False)
    async with assemble(settings, upload_sink=UploadDirectory(Layout(directory))) as system:
        client = RestClient(InProcessTransport(system.server, SYSTEM), manager="tester", warn=warn)
        opened = ControlledSystem(system, client, directory)
        await opened.create(instancetype_tree(), preference_tree())
        yield opened


def refer(server: Server) -> JsonObject:
    return {"registry": {"url": f"docker://{server.address}/team/disk:v1"}}


def inferring_vm(source: JsonObject, metadata: JsonObject | None = None, **spec: Any) -> JsonObject:
    template = {"metadata": {"name": "root", **(metadata or {})}, "spec": volume_tree(source=source)["spec"]}
    volumes = [{"name": "root", "dataVolume": {"name": "root"}}]
    matchers = {"instancetype": INFER, "preference": INFER, **spec}
    return vm_tree(template={"volumes": volumes}, dataVolumeTemplates=[template], runStrategy="Halted", **matchers)


async def read_labels(system: ControlledSystem, name: str = "dv1") -> tuple[dict[str, str] | None, ...]:
    volume = await wait_for_volume(system, name)
    claim = await system.client.get(PersistentVolumeClaim, name, "default")
    return metadata_of(volume).labels, metadata_of(claim).labels


async def test_imported_volume_and_its_claim_get_the_defaults_of_the_image(tmp_path: Path) -> None:
    wanted = {TYPE: "small", PREFERENCE: "linux"}
    async with open_importing_system(tmp_path) as system, system.run_controllers("none"):
        with serve(serve_image([LAYER], CONFIG)) as server:
            await system.create(volume_tree(source=refer(server)))
            assert await read_labels(system) == (wanted, wanted)
        # The image is cached with its defaults, so a second import needs no registry.
        await system.create(volume_tree("dv2", size=None, source=refer(server)))
        assert await read_labels(system, "dv2") == (wanted, wanted)


async def test_added_image_has_the_defaults_of_its_container_image_unless_the_request_sets_them(tmp_path: Path) -> None:
    async with open_importing_system(tmp_path) as system, system.run_controllers("none"):
        with serve(serve_image([LAYER], CONFIG)) as server:
            wanted = NewImage(
                name="fedora",
                namespace="default",
                url=refer(server)["registry"]["url"],
                defaults={"preference": Default("mine", "VirtualMachinePreference")},
            )
            image = await add_image(system.client, tmp_path, wanted, lambda *_: None)
        assert (image.default_instancetype, image.default_instancetype_kind) == ("small", "")
        assert (image.default_preference, image.default_preference_kind) == ("mine", "VirtualMachinePreference")


@pytest.mark.parametrize("write", range(1, 19, 2))
async def test_defaults_of_the_image_survive_a_controller_crash(tmp_path: Path, write: int) -> None:
    wanted = {TYPE: "small", PREFERENCE: "linux"}
    mortals: list[CrashingClient] = []

    def wrap(client: Client) -> Client:
        mortals.append(CrashingClient(client, write, late=True))
        return mortals[0]

    async with open_importing_system(tmp_path) as system:
        with serve(serve_image([LAYER], CONFIG)) as server:
            await system.create(volume_tree(source=refer(server)))
            with contextlib.suppress(UnreachableError):
                async with system.run_controllers("none", wrap=wrap):
                    await first_of(mortals[0].crashed.wait(), wait_for_volume(system))
            async with system.run_controllers("none"):
                assert await read_labels(system) == (wanted, wanted)


async def test_labels_of_the_user_take_precedence_over_those_of_the_image(tmp_path: Path) -> None:
    own = {TYPE: "mine", "team": "a"}
    async with open_importing_system(tmp_path) as system, system.run_controllers("none"):
        with serve(serve_image([LAYER], CONFIG)) as server:
            await system.create(volume_tree(source=refer(server), metadata={"labels": own}))
            assert await read_labels(system) == ({**own, PREFERENCE: "linux"},) * 2


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param(build_config(f"{TYPE_VARIABLE}=a b"), f"{TYPE}='a b': a valid label must be", id="invalid label"),
        pytest.param(b" " * (4 * MIB + 1), "configuration has more than 4194304 bytes", id="huge"),
        pytest.param(b'{"config": {"Env": 3}}', "configuration cannot be read", id="wrong type"),
        pytest.param(b'{"a": ' + b"[" * 100_000, "configuration cannot be read", id="deep"),
    ],
)
async def test_image_with_an_unusable_configuration_is_imported_with_a_warning_event(
    tmp_path: Path, config: bytes, message: str
) -> None:
    async with open_importing_system(tmp_path) as system, system.run_controllers("none"):
        with serve(serve_image([LAYER], config)) as server:
            await system.create(volume_tree(source=refer(server)))
            assert await read_labels(system) == (None, None)
            assert message in await wait_for_event(system, "dv1", "ImageDefaultIgnored")


async def test_vm_infers_from_the_image_of_its_template_before_the_import(tmp_path: Path) -> None:
    async with open_importing_system(tmp_path) as system:
        with serve(serve_image([LAYER], CONFIG)) as server:
            await system.create(inferring_vm(refer(server)))
            assert [request.path.split("/")[-2] for request in server.requests] == ["manifests", "blobs"]
        vm = await system.client.get(VirtualMachine, "vm1", "default")
        assert vm.spec.instancetype is not None
        assert (vm.spec.instancetype.name, vm.spec.instancetype.infer_from_volume) == ("small", None)
        assert vm.spec.preference is not None
        assert vm.spec.preference.name == "linux"


async def test_labels_of_a_template_are_used_without_a_request_to_the_registry(tmp_path: Path) -> None:
    labels = {TYPE: "small", PREFERENCE: "linux"}
    async with open_importing_system(tmp_path) as system:
        with serve(serve_image([LAYER], build_config())) as server:
            await system.create(inferring_vm(refer(server), {"labels": labels}))
            assert server.requests == []


async def test_vm_is_rejected_with_the_reason_if_its_image_has_no_default(tmp_path: Path) -> None:
    warnings: list[str] = []
    async with open_importing_system(tmp_path, warnings.append) as system:
        with serve(serve_image([LAYER], build_config(f"{TYPE_VARIABLE}=a b"))) as server:
            with pytest.raises(StatusError) as refused:
                await system.create(inferring_vm(refer(server), preference={"name": "linux"}))
            assert f"no {TYPE} of container image docker://{server.address}/team/disk:v1" in refused.value.message
            assert f"the container image's default {TYPE}='a b': a valid label must be" in warnings[0]


async def test_vm_is_rejected_if_the_registry_is_unreachable_unless_failures_are_ignored(tmp_path: Path) -> None:
    with serve(serve_image([LAYER], CONFIG)) as server:
        pass
    warnings: list[str] = []
    async with open_importing_system(tmp_path, warnings.append) as system:
        with pytest.raises(StatusError, match="DataVolumeSource is not supported"):
            await system.create(inferring_vm(refer(server)))
        assert server.address in warnings[0]
        ignoring = {**INFER, "inferFromVolumeFailurePolicy": "Ignore"}
        tree = inferring_vm(refer(server), instancetype=ignoring, preference=ignoring)
        tree["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "1Gi"}
        await system.create(tree)
        vm = await system.client.get(VirtualMachine, "vm1", "default")
        assert vm.spec.instancetype is None
