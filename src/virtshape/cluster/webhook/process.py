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
from virtshape.daemon.metrics import PREFIX, Family, Sample, list_durations, list_process_metrics
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
            context,
            CertificateRenewer(api.client, source, list_injection_targets()),
            lambda: [*list_process_metrics(COMPONENT), *list_webhook_metrics(webhook)],
            supervisor,
            get_limit,
        )
        await serve(server, settings, on_ready)


def list_injection_targets() -> list[InjectionTarget]:
    """Return the objects whose CA bundle must contain our authority."""
    return [
        webhook_target("mutatingwebhookconfigurations", SYSTEM),
        webhook_target("validatingwebhookconfigurations", SYSTEM),
        *(conversion_target(name) for name in list_converted()),
    ]


def list_webhook_metrics(webhook: Webhook) -> Iterable[Family]:
    """Return the metrics of responses and their durations."""
    counts = webhook.counts
    return [
        Family(
            f"{PREFIX}webhook_answers_total",
            "counter",
            "Responses by path and outcome: allowed, denied, done, failed.",
            tuple(
                Sample(count, {"path": path, "outcome": outcome}) for (path, outcome), count in counts.outcomes.items()
            ),
        ),
        Family(
            f"{PREFIX}webhook_duration_seconds",
            "histogram",
            "Response time in seconds.",
            tuple(
                sample
                for path, durations in counts.durations.items()
                for sample in list_durations(durations, {"path": path})
            ),
        ),
    ]
