"""
The webhooks as a process on a cluster: any number may run, and each answers by itself.

Put together here; nothing is decided here.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from virtshape.apiserver.http import Listener
from virtshape.client.access import Access
from virtshape.client.informers import Informers
from virtshape.control.slim import SlimClient
from virtshape.serve.delegation import DelegatedAuthorizer
from virtshape.serve.figures import PREFIX, list_process_figures
from virtshape.serve.logs import is_access_logged, log_requests
from virtshape.serve.manifests.crds import list_converted
from virtshape.serve.manifests.naming import SYSTEM, name_account
from virtshape.serve.metrics import Family, Sample, list_durations
from virtshape.serve.monitoring import Monitor, monitored
from virtshape.serve.process import Ports, connected
from virtshape.serve.surroundings import Surroundings
from virtshape.serve.tls.keeping import CertificateKeeper
from virtshape.serve.tls.sources import Certification
from virtshape.serve.tls.trust import Truster, trust_conversion, trust_webhooks
from virtshape.serve.webhook.answering import Webhook

COMPONENT: Final = "webhook"
MANAGER: Final = "virtshape-webhook"
DRAIN_SECONDS: Final = 10.0


class Settings(Struct, frozen=True, kw_only=True):
    """How to run."""

    tls: Certification
    port: int = 8443
    ports: Ports = Ports()


class Ready(Struct, frozen=True):
    """Where the process answers."""

    port: int
    health_port: int
    metrics_port: int


async def run(settings: Settings, access: Access, announce: Callable[[Ready], None]) -> None:
    """Answer until cancelled; then finish what is in flight."""
    async with connected(access, MANAGER) as line:
        informers = Informers(SlimClient(line.client))
        surroundings = Surroundings(line.client, informers)
        trusted = [name_account(component, settings.tls.namespace) for component in ("controller", "apiserver")]
        webhook = Webhook(surroundings, DelegatedAuthorizer(line.client), trusted)
        keeper = CertificateKeeper(line.client, settings.tls.find_source(line.client, COMPONENT), list_trusters())
        listener = Listener(log_requests(webhook.handle) if is_access_logged() else webhook.handle)
        serving: list[int] = []
        monitor = Monitor(
            lambda: {"informers": surroundings.is_ready, "certificate": bool(serving)},
            lambda: [*list_process_figures(COMPONENT), *list_webhook_figures(webhook)],
        )
        ports = settings.ports
        async with monitored(monitor, ports.host, ports.health, ports.metrics) as (health, metrics):
            informing = asyncio.create_task(informers.run(), name="informers")
            try:
                context = await keeper.begin()
                await informers.wait()
                serving.append(await listener.start(ports.host, settings.port, context))
                announce(Ready(serving[0], health, metrics))
                await keeper.run()
            finally:
                serving.clear()
                await listener.stop(DRAIN_SECONDS)
                informing.cancel()
                await asyncio.gather(informing, return_exceptions=True)


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
