"""
The webhooks as a process on a cluster: any number may run, and each answers by itself.

Put together here; nothing is decided here.
"""

from collections.abc import Callable, Iterable
from typing import Final

from virtshape.admission.accounts import list_trusted
from virtshape.client.access import Access
from virtshape.client.informers import Informers
from virtshape.cluster.admissioncontext import Surroundings
from virtshape.cluster.component import Ready, Server, Settings, serve
from virtshape.cluster.delegation import DelegatedAuthorizer
from virtshape.cluster.manifests.crds import list_converted
from virtshape.cluster.manifests.naming import SYSTEM
from virtshape.cluster.process import connected
from virtshape.cluster.tls.keeping import CertificateKeeper
from virtshape.cluster.tls.trust import Truster, trust_conversion, trust_webhooks
from virtshape.cluster.webhook.answering import Webhook
from virtshape.controllers.runtime.trimming import SlimClient
from virtshape.daemon.metrics import Family, Sample, list_durations
from virtshape.daemon.processmetrics import PREFIX, list_process_figures
from virtshape.supervise.supervisor import Supervisor

COMPONENT: Final = "webhook"
MANAGER: Final = "virtshape-webhook"
LARGEST_REVIEW: Final = 64 * 1024 * 1024
"""Bytes; a list that is wanted at another version comes in one piece."""


async def run(settings: Settings, access: Access, announce: Callable[[Ready], None]) -> None:
    """Answer until cancelled."""
    namespace = settings.tls.namespace
    supervisor = Supervisor()
    async with connected(access, MANAGER) as line:
        informers = Informers(SlimClient(line.client))
        surroundings = Surroundings(line.client, informers)
        webhook = Webhook(surroundings, DelegatedAuthorizer(line.client), list_trusted(namespace))
        source = settings.tls.find_source(line.client, COMPONENT)
        server = Server(
            webhook.handle,
            informers,
            surroundings,
            CertificateKeeper(line.client, source, list_trusters()),
            lambda: [*list_process_figures(COMPONENT), *list_webhook_figures(webhook)],
            supervisor,
            LARGEST_REVIEW,
        )
        await serve(server, settings, announce)


def list_trusters() -> list[Truster]:
    """The objects that have the API server call us."""
    return [
        trust_webhooks("mutatingwebhookconfigurations", SYSTEM),
        trust_webhooks("validatingwebhookconfigurations", SYSTEM),
        *(trust_conversion(name) for name in list_converted()),
    ]


def list_webhook_figures(webhook: Webhook) -> Iterable[Family]:
    """What was asked and answered, and how long that took."""
    counts = webhook.counts
    return [
        Family(
            f"{PREFIX}webhook_answers_total",
            "counter",
            "Answers by path and outcome: allowed, denied, done, failed.",
            tuple(
                Sample(count, {"path": path, "outcome": outcome}) for (path, outcome), count in counts.outcomes.items()
            ),
        ),
        Family(
            f"{PREFIX}webhook_duration_seconds",
            "histogram",
            "Time that an answer takes, in seconds.",
            tuple(
                sample
                for path, durations in counts.durations.items()
                for sample in list_durations(durations, {"path": path})
            ),
        ),
    ]
