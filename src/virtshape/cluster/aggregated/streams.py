"""
Streams to guests in pods: each stream runs a command in the guest's container through the API server's exec endpoint.

Pods need no open port for these streams. An annotation on the pod records whether its guest is paused, for the
controllers.
"""

from typing import Final

from virtshape.api.core.podspec import Pod
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.launcherpod import EXEC_COMMAND
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.guestactions import refuse_agent
from virtshape.apiserver.subresources.protocol import AgentQuery, GuestAction, PortProtocol
from virtshape.client.http import HttpTransport
from virtshape.client.protocol import Client
from virtshape.cluster.podexec import Command, run_command, start_command
from virtshape.controllers.pods.naming import CONTAINER, PAUSED_ANNOTATION, name_pod
from virtshape.daemon.guestrequests import ACTIONS, AGENT_REQUESTS, format_agent_response
from virtshape.launcher.controlprotocol import Answer, Request, format_line, parse_answer
from virtshape.stream.duplex import Duplex

_PAUSES: Final = {"pause": "true", "unpause": "false"}


class PodGuestStreams:
    """Opens consoles, screens and ports of guests in pods, and sends requests to their launchers."""

    reports_agents: Final = False

    def __init__(self, transport: HttpTransport, client: Client) -> None:
        self._transport = transport
        self._client = client

    async def act(self, vmi: VirtualMachineInstance, action: GuestAction) -> None:
        """Send the action to the guest's launcher; after `pause` or `unpause`, update the annotation on the pod."""
        await self._ask(vmi, ACTIONS[action])
        if action in _PAUSES:
            patch = {"metadata": {"annotations": {PAUSED_ANNOTATION: _PAUSES[action]}}}
            await self._client.patch(Pod, name_pod(vmi), _namespace(vmi), patch=patch)

    async def open_console(self, vmi: VirtualMachineInstance) -> Duplex:
        """Open the guest's first serial console."""
        return await self._start(vmi, "console")

    async def open_vnc(self, vmi: VirtualMachineInstance) -> Duplex:
        """Open the guest's VNC display."""
        return await self._start(vmi, "vnc")

    async def open_port(self, vmi: VirtualMachineInstance, port: int, protocol: PortProtocol) -> Duplex:
        """Connect to a TCP port of the guest; other protocols are not supported."""
        if protocol != "tcp":
            raise StatusError(501, "NotImplemented", f"{protocol} cannot be forwarded to a guest in a pod: use tcp")
        return await self._start(vmi, "port", str(port))

    async def query_agent(self, vmi: VirtualMachineInstance, query: AgentQuery) -> bytes:
        """Return the guest agent's response; raise StatusError if the launcher reports that no agent is connected."""
        answer = await self._ask_launcher(vmi, AGENT_REQUESTS[query])
        if answer.error and answer.report is not None and not answer.report.agent:
            raise refuse_agent(vmi)
        return format_agent_response(query, _require_success(answer))

    async def read_console_log(self, vmi: VirtualMachineInstance) -> bytes:
        """Return the log of the guest's first serial console."""
        return await self._run(vmi, "log")

    async def _ask(self, vmi: VirtualMachineInstance, request: Request) -> Answer:
        return _require_success(await self._ask_launcher(vmi, request))

    async def _ask_launcher(self, vmi: VirtualMachineInstance, request: Request) -> Answer:
        return parse_answer(await self._run(vmi, "ask", format_line(request).decode().strip()))

    async def _run(self, vmi: VirtualMachineInstance, *arguments: str) -> bytes:
        return await run_command(
            self._transport, _namespace(vmi), name_pod(vmi), CONTAINER, [*EXEC_COMMAND, *arguments]
        )

    async def _start(self, vmi: VirtualMachineInstance, *arguments: str) -> Command:
        return await start_command(
            self._transport, _namespace(vmi), name_pod(vmi), CONTAINER, [*EXEC_COMMAND, *arguments]
        )


def _require_success(answer: Answer) -> Answer:
    if answer.error:
        raise StatusError(409, "Conflict", answer.error)
    return answer


def _namespace(vmi: VirtualMachineInstance) -> str:
    return vmi.metadata.namespace or ""
