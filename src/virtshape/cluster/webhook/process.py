"""The webhook component: a process that admits and converts objects. Any number of replicas may run."""

from collections.abc import Callable, Iterable
from typing import Final

from virtshape.admission.accounts import get_trusted_users
from virtshape.client.access import Access
from virtshape.client.informer import Informers
from virtshape.cluster.admissioncontext import AdmissionContext
from virtshape.cluster.component import Ready, Server, Settings, open_connection, serve
from virtshape.cluster.delegation import DelegatedAuthorizer
from virtshape.cluster.manifests.crds import list_converted
from virtshape.cluster.manifests.naming import SYSTEM
from virtshape.cluster.tls.cainjection import InjectionTarget, conversion_target, webhook_target
from virtshape.cluster.tls.renewal import CertificateRenewer
from virtshape.cluster.webhook.handler import Webhook, get_limit
from virtshape.controllers.runtime.clients import TrimmingClient
from virtshape.daemon.metrics.families import Family, Sample, list_durations
from virtshape.daemon.metrics.process import list_build_metrics
from virtshape.daemon.metrics.requests import list_verdict_metrics
from virtshape.supervise.supervisor import Supervisor

COMPONENT: Final = "webhook"
MANAGER: Final = "virtshape-webhook"


async def run(settings: Settings, access: Access, on_ready: Callable[[Ready], None]) -> None:
    """Serve webhook requests until cancelled."""
    namespace = settings.tls.namespace
    supervisor = Supervisor()
    async with open_connection(access, MANAGER) as api:
        informers = Informers(TrimmingClient(api.client))
        context = AdmissionContext(api.client, informers)
        webhook = Webhook(context, DelegatedAuthorizer(api.client), get_trusted_users(namespace))
        source = settings.tls.get_source(api.client, COMPONENT)
        server = Server(
            webhook.handle,
            informers,
            CertificateRenewer(api.client, source, list_injection_targets()),
            lambda: [*list_build_metrics(COMPONENT), *list_webhook_metrics(webhook)],
            supervisor,
            get_limit,
        )
        await serve(server, settings, on_ready)


def list_injection_targets() -> list[InjectionTarget]:
    """Return the objects whose CA bundle must contain our CA certificate."""
    return [
        webhook_target("mutatingwebhookconfigurations", SYSTEM),
        webhook_target("validatingwebhookconfigurations", SYSTEM),
        *(conversion_target(name) for name in list_converted()),
    ]


def list_webhook_metrics(webhook: Webhook) -> Iterable[Family]:
    """Return the metrics of responses, durations (both with controller-runtime's names) and verdicts."""
    counts = webhook.counts
    return [
        Family(
            "controller_runtime_webhook_requests_total",
            "counter",
            "Number of webhook requests by path and status code; a denied object has status code 200.",
            tuple(Sample(count, {"webhook": path, "code": str(code)}) for (path, code), count in counts.codes.items()),
        ),
        Family(
            "controller_runtime_webhook_latency_seconds",
            "histogram",
            "Response time of webhook requests in seconds.",
            tuple(
                sample
                for path, durations in counts.durations.items()
                for sample in list_durations(durations, {"webhook": path})
            ),
        ),
        *list_verdict_metrics(counts.verdicts.values()),
    ]
