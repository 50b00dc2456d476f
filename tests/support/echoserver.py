"""
A server with echo guests as a separate process: `python -m tests.support.echoserver FOLDER GUEST...`.

Prints the path of its kubeconfig when it is ready, and stops on a signal. The guest `late` starts after a second,
`never` does not start. `vm-NAME` creates a stopped VM with this name.
"""

import asyncio
import signal
import sys
from pathlib import Path

import uvloop
from tests.support.streamsetup import NAMESPACE, StreamSetup, open_stream_setup

from virtshape.api.codec import from_tree
from virtshape.api.kubevirt.instance import VirtualMachineInstance
from virtshape.api.kubevirt.virtualmachine import VirtualMachine


async def serve(folder: Path, names: list[str]) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with open_stream_setup(folder) as setup:
        for name in names:
            await add(setup, name)
        sys.stdout.write(f"{setup.system.kubeconfig}\n")
        sys.stdout.flush()
        await stopping.wait()


async def add(setup: StreamSetup, name: str) -> None:
    if name.startswith("vm-"):
        await setup.system.client.create(build_vm(name.removeprefix("vm-")))
    elif name in ("late", "never"):
        await setup.run_guest(name, phase="Scheduling")
        if name == "late":
            asyncio.get_running_loop().call_later(1.0, lambda: asyncio.ensure_future(begin(setup, name)))
    else:
        await setup.run_guest(name, conditions=["AgentConnected"])


async def begin(setup: StreamSetup, name: str) -> None:
    await setup.controller.patch(VirtualMachineInstance, name, NAMESPACE, patch={"status": {"phase": "Running"}})


def build_vm(name: str) -> VirtualMachine:
    template = {"spec": {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}}}
    tree = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"runStrategy": "Halted", "template": template},
    }
    return from_tree(tree, VirtualMachine)


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1]), sys.argv[2:]))
