"""The metrics of all processes: a scrape of the standalone server, and metrics that only a cluster has."""

import pytest
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families
from tests.support.controllers import instancetype_tree, preference_tree, vm_tree
from tests.support.objects import object_from_tree
from tests.support.standaloneserver import RunningServer, eventually

from virtshape.admission.accounts import get_trusted_users
from virtshape.api.status import StatusError
from virtshape.client.informer import Informers
from virtshape.cluster.admissioncontext import AdmissionContext
from virtshape.cluster.delegation import DelegatedAuthorizer
from virtshape.cluster.webhook.handler import Webhook
from virtshape.cluster.webhook.process import list_webhook_metrics
from virtshape.daemon.metrics.exposition import encode_families
from virtshape.daemon.metrics.process import list_leader_metrics


async def scrape_busy_server(server: RunningServer) -> str:
    """Create VMs that run, and a VM that is denied; return a scrape in which each metric has samples."""
    limited, denied = vm_tree(), vm_tree()
    limited["metadata"]["name"] = "limited"
    del limited["spec"]["instancetype"], limited["spec"]["preference"]
    amounts = {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    limited["spec"]["template"]["spec"]["domain"]["resources"] = amounts
    denied["spec"]["template"]["spec"]["domain"]["cpu"] = {"cores": 3}
    for tree in (instancetype_tree(), preference_tree(), limited):
        await server.client.create(object_from_tree(tree))
    with pytest.raises(StatusError):
        await server.client.create(object_from_tree(denied))
    await server.client.create(object_from_tree(vm_tree()))

    async def scrape() -> str:
        _, text = await server.get("/metrics")
        return text if count_running(text) >= 2 else ""

    text: str = await eventually(scrape, "the VMs do not run")
    return text


def count_running(text: str) -> int:
    """Return the number of running instances in a scrape."""
    samples = (sample for family in text_string_to_metric_families(text) for sample in family.samples)
    phases = [each for each in samples if each.name == "kubevirt_vmi_phase_count"]
    return sum(int(each.value) for each in phases if each.labels["phase"] == "running")


def list_cluster_metrics(server: RunningServer) -> str:
    """Return the metrics that only processes of a cluster have, in the text format."""
    context = AdmissionContext(server.client, Informers(server.client))
    webhook = Webhook(context, DelegatedAuthorizer(server.client), get_trusted_users("kubevirt"))
    webhook.counts.add("/admit/mutate", 200, 0.001)
    families = [*list_webhook_metrics(webhook), *list_leader_metrics("virtshape-controller", is_leading=True)]
    of_clusters = frozenset(family.name for family in families if not family.name.startswith("virtshape_"))
    return encode_families(families, names=of_clusters).body.decode()


def parse_metrics(text: str) -> dict[str, Metric]:
    """Return the families by name; the names of counters end with `_total`."""
    families = text_string_to_metric_families(text)
    return {f"{each.name}_total" if each.type == "counter" else each.name: each for each in families}
