"""
The way to guests in pods: commands in their containers, which the cluster's API server runs for whoever may.

No port of a guest's pod is open for it. Whether a guest is paused is noted on its pod, for the controllers to tell.
"""

from typing import Final

from virtshape.api.core.podspec import Pod
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.meta import ObjectMeta
from virtshape.api.status import StatusError
from virtshape.apiserver.subresources.guests import refuse_agent
from virtshape.apiserver.subresources.gueststreams import AgentQuery, GuestAction, PortProtocol
from virtshape.client.http import HttpTransport
from virtshape.client.protocol import Client
from virtshape.cluster.aggregated.exec import Command, run_command, start_command
from virtshape.controllers.pods.naming import CONTAINER, PAUSED_ANNOTATION, name_pod
from virtshape.daemon.guestrequests import ACTIONS, QUESTIONS, format_agent_response
from virtshape.launcher.pod.paths import EXEC_COMMAND
from virtshape.launcher.request import Answer, Request, format_line, parse_answer
from virtshape.stream.duplex import Duplex

_PAUSES: Final = {"pause": "true", "unpause": "false"}


class PodGuestStreams:
    """Leads to guests in pods of the cluster at the other end of a transport."""

    reports_agents: Final = False

    def __init__(self, transport: HttpTransport, client: Client) -> None:
        self._transport = transport
        self._client = client

    async def act(self, vmi: VirtualMachineInstance, action: GuestAction) -> None:
        """Have it done by the guest's launcher process."""
        await self._ask(vmi, ACTIONS[action])
        if action in _PAUSES:
            patch = {"metadata": {"annotations": {PAUSED_ANNOTATION: _PAUSES[action]}}}
            await self._client.patch(Pod, name_pod(vmi), _namespace(vmi), patch=patch)

    async def open_console(self, vmi: VirtualMachineInstance) -> Duplex:
        """The guest's first serial console."""
        return await self._visit(vmi, "console")

    async def open_vnc(self, vmi: VirtualMachineInstance) -> Duplex:
        """The guest's screen, in VNC's protocol."""
        return await self._visit(vmi, "vnc")

    async def open_port(self, vmi: VirtualMachineInstance, port: int, protocol: PortProtocol) -> Duplex:
        """A port of the guest; only one that streams can be reached."""
        if protocol != "tcp":
            raise StatusError(501, "NotImplemented", f"{protocol} cannot be forwarded to a guest in a pod: tcp can")
        return await self._visit(vmi, "port", str(port))

    async def ask_agent(self, vmi: VirtualMachineInstance, question: AgentQuery) -> bytes:
        """What the agent in the guest says; its launcher process knows whether there is one."""
        answer = await self._visit_launcher(vmi, QUESTIONS[question])
        if answer.error and answer.report is not None and not answer.report.agent:
            raise refuse_agent(vmi)
        return format_agent_response(question, _check(answer))

    async def read_console_log(self, vmi: VirtualMachineInstance) -> bytes:
        """All that the guest has written to its first serial console."""
        return await self._run(vmi, "log")

    async def _ask(self, vmi: VirtualMachineInstance, request: Request) -> Answer:
        return _check(await self._visit_launcher(vmi, request))

    async def _visit_launcher(self, vmi: VirtualMachineInstance, request: Request) -> Answer:
        return parse_answer(await self._run(vmi, "ask", format_line(request).decode().strip()))

    async def _run(self, vmi: VirtualMachineInstance, *words: str) -> bytes:
        return await run_command(self._transport, _namespace(vmi), name_pod(vmi), CONTAINER, [*EXEC_COMMAND, *words])

    async def _visit(self, vmi: VirtualMachineInstance, *words: str) -> Command:
        return await start_command(self._transport, _namespace(vmi), name_pod(vmi), CONTAINER, [*EXEC_COMMAND, *words])


def _check(answer: Answer) -> Answer:
    if answer.error:
        raise StatusError(409, "Conflict", answer.error)
    return answer


def _namespace(vmi: VirtualMachineInstance) -> str:
    return (vmi.metadata or ObjectMeta()).namespace or ""
