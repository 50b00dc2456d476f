"""Resize guests in pods: send the request to the launcher by running a command in its pod."""

import msgspec

from virtshape.api.core.podspec import Pod
from virtshape.api.launcherpod import EXEC_COMMAND, RESIZE_ACTION
from virtshape.api.status import StatusError
from virtshape.cluster.guestreports import RunCommand
from virtshape.controllers.pods.naming import CONTAINER
from virtshape.launcher.controlprotocol import parse_answer


async def resize_guest(run_command: RunCommand, pod: Pod, *, vcpus: int, memory: int) -> str:
    """
    Set the number of vCPUs and the memory in bytes of a guest; a value of 0 leaves the current size unchanged.

    Return why the guest cannot have this size, or an empty string. Raise StatusError if the launcher does not answer,
    for example because it is from an earlier release.
    """
    command = [*EXEC_COMMAND, RESIZE_ACTION, str(vcpus), str(memory)]
    metadata = pod.metadata
    output = await run_command(metadata.namespace or "", metadata.name or "", CONTAINER, command)
    try:
        return parse_answer(output).error
    except msgspec.DecodeError as error:
        raise StatusError(502, "BadGateway", f"the launcher sent an invalid answer: {error}") from error
