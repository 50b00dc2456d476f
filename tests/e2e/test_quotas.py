"""Resource quotas on storage, against a running server."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.e2e.tenants import Tenant
from tests.e2e.uploads import build_volume
from tests.support.upprocess import System, wait_until
from tests.support.webserver import serve, serve_file

from virtshape.api.model import JsonObject

MIB = 1 << 20


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    data = tmp_path_factory.mktemp("quotas") / "data"
    data.mkdir(mode=0o700)
    (data / "config.yaml").write_text("imports: {allowedNetworks: [127.0.0.0/8]}\n")
    with System(data, "--launcher", "none") as running:
        yield running
    log = running.log.read_text()
    assert "Traceback" not in log, log


def limit(system: System, namespace: str, **hard: str) -> Tenant:
    """Return a tenant whose namespace has a quota; `__` in a resource's name means a dot."""
    tenant = Tenant(system, namespace)
    spec = {"hard": {name.replace("__", "."): value for name, value in hard.items()}}
    tree = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "storage"}, "spec": spec}
    code, answer = system.request("POST", f"/api/v1/namespaces/{namespace}/resourcequotas", tree)
    assert code == 201, answer
    return tenant


def build_claim(name: str, size: str) -> JsonObject:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def get_usage(tenant: Tenant) -> JsonObject:
    quota = tenant.get(f"/api/v1/namespaces/{tenant.namespace}/resourcequotas/storage")
    return quota.get("status", {}).get("used") or {}


def test_claim_beyond_the_quota_is_forbidden_with_the_kubernetes_message(system: System) -> None:
    tenant = limit(system, "sized", requests__storage="10Mi", persistentvolumeclaims="2")
    tenant.create(build_claim("first", "9Mi"))
    code, refusal = tenant.request("POST", tenant.claims, build_claim("second", "2Mi"))
    assert (code, refusal["reason"], refusal["message"]) == (
        403,
        "Forbidden",
        (
            'persistentvolumeclaims "second" is forbidden: exceeded quota: storage, requested: requests.storage=2Mi, '
            "used: requests.storage=9Mi, limited: requests.storage=10Mi"
        ),
    )
    tenant.create(build_claim("second", "1Mi"))
    code, refusal = tenant.request("POST", tenant.claims, build_claim("third", "1Mi"))
    assert code == 403
    assert "requested: persistentvolumeclaims=1,requests.storage=1Mi, used: " in refusal["message"]
    wait_until(
        lambda: get_usage(tenant) == {"persistentvolumeclaims": "2", "requests.storage": "10Mi"},
        "usage was not updated",
    )
    assert tenant.request("DELETE", f"{tenant.claims}/first")[0] == 200
    wait_until(lambda: get_usage(tenant) == {"persistentvolumeclaims": "1", "requests.storage": "1Mi"}, "no status")
    tenant.create(build_claim("third", "9Mi"))


def test_claim_cannot_grow_beyond_the_quota(system: System) -> None:
    tenant = limit(system, "growing", requests__storage="10Mi")
    tenant.create(build_claim("disk", "8Mi"))
    wait_until(lambda: tenant.get(f"{tenant.claims}/disk")["status"]["phase"] == "Bound", "the claim was not bound")

    def grow(size: str) -> tuple[int, Any]:
        body = {"spec": {"resources": {"requests": {"storage": size}}}}
        return tenant.request(
            "PATCH", f"{tenant.claims}/disk", body, **{"Content-Type": "application/merge-patch+json"}
        )

    code, refusal = grow("11Mi")
    assert code == 403, refusal
    assert "requested: requests.storage=3Mi, used: requests.storage=8Mi" in refusal["message"]
    assert grow("10Mi")[0] == 200


def test_concurrent_claims_cannot_exceed_the_quota(system: System) -> None:
    tenant = limit(system, "racing", requests__storage="10Mi")
    with ThreadPoolExecutor(16) as pool:
        codes = list(
            pool.map(
                lambda number: tenant.request("POST", tenant.claims, build_claim(f"c{number}", "4Mi"))[0], range(16)
            )
        )
    assert sorted(set(codes)) == [201, 403]
    assert codes.count(201) == 2


def test_storage_class_quota_counts_claims_of_the_default_class(system: System) -> None:
    resource = "local.storageclass.storage.k8s.io/requests.storage"
    tenant = limit(system, "classed", **{resource: "4Mi"})
    code, refusal = tenant.request("POST", tenant.claims, build_claim("disk", "5Mi"))
    assert (code, f"limited: {resource}=4Mi" in refusal["message"]) == (403, True), refusal


def test_quota_limits_the_number_of_data_volumes_and_snapshots(system: System) -> None:
    volumes, snapshots = "count/datavolumes.cdi.kubevirt.io", "count/volumesnapshots.snapshot.storage.k8s.io"
    tenant = limit(system, "counted", **{volumes: "1", snapshots: "0"})
    tenant.create(build_volume("first"))
    code, refusal = tenant.request("POST", tenant.volumes, build_volume("second"))
    assert (code, refusal["message"]) == (
        403,
        (
            f'datavolumes.cdi.kubevirt.io "second" is forbidden: exceeded quota: storage, requested: {volumes}=1, '
            f"used: {volumes}=1, limited: {volumes}=1"
        ),
    )
    snapshot = {
        "apiVersion": "snapshot.storage.k8s.io/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": "one"},
        "spec": {"source": {"persistentVolumeClaimName": "first"}},
    }
    path = "/apis/snapshot.storage.k8s.io/v1/namespaces/counted/volumesnapshots"
    code, refusal = tenant.request("POST", path, snapshot)
    assert (code, f"limited: {snapshots}=0" in refusal["message"]) == (403, True), refusal
    wait_until(lambda: get_usage(tenant) == {volumes: "1", snapshots: "0"}, "usage was not updated")


@pytest.mark.parametrize("size", ["8Mi", None], ids=["stated", "measured"])
def test_data_volume_beyond_the_quota_reports_the_quota_and_uses_no_disk_space(
    system: System, size: str | None
) -> None:
    tenant = limit(system, f"importing-{size or 'none'}".lower(), requests__storage="4Mi")
    with serve(serve_file(bytes(8 * MIB))) as server:
        volume = tenant.create(build_volume("disk", size, source={"http": {"url": f"{server.url}/disk"}}))
        path = f"{tenant.volumes}/disk"

        def reason() -> str | None:
            conditions = tenant.get(path).get("status", {}).get("conditions", [])
            return next((one.get("reason") for one in conditions if one["type"] == "Running"), None)

        wait_until(lambda: reason() == "ErrExceededQuota", lambda: str(tenant.get(path)))
    assert not (system.directory / "scratch" / volume["metadata"]["uid"]).exists()
    assert tenant.get(tenant.claims)["items"] == []


def test_user_of_a_namespace_can_read_but_not_write_its_quotas(system: System) -> None:
    tenant = limit(system, "reading", requests__storage="4Mi")
    quotas = "/api/v1/namespaces/reading/resourcequotas"
    assert [one["metadata"]["name"] for one in tenant.get(quotas)["items"]] == ["storage"]
    body = {"spec": {"hard": {"requests.storage": "1Ti"}}}
    merge = {"Content-Type": "application/merge-patch+json"}
    assert tenant.request("PATCH", f"{quotas}/storage", body, **merge)[0] == 403
    assert tenant.request("PATCH", f"{quotas}/storage/status", {"status": {"used": {}}}, **merge)[0] == 403
    assert tenant.request("DELETE", f"{quotas}/storage")[0] == 403


@pytest.mark.parametrize(
    ("resource", "value", "message"),
    [
        ("requests.storage", "-1Gi", "must be greater than or equal to 0"),
        ("storages", "1Gi", "must be a standard resource type or fully qualified"),
    ],
)
def test_invalid_quota_is_rejected(system: System, resource: str, value: str, message: str) -> None:
    tree = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {resource: value}}}
    code, refusal = system.request("POST", "/api/v1/namespaces/default/resourcequotas", tree)
    assert (code, message in refusal["message"]) == (422, True), refusal
