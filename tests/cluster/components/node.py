"""
A fake node that runs launcher pods as local processes: a minimal scheduler and kubelet.

It binds pods, reports their status and serves `exec`. Claims are directories on the node; pods in namespaces without
claims are ignored. All processes are stopped when the `with` block ends.
"""

import asyncio
import contextlib
import json
import shutil
import threading
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path

from tests.cluster.components.kubelet import SUCCESS, build_upgrade_headers, serve_kubelet
from tests.cluster.components.sandbox import Sandbox
from tests.support.controlplane import ControlPlane

from virtshape.api.model import JsonObject
from virtshape.apiserver.message import AnyResponse, Request, Response, Upgrade

NAME = "real"
PODS = "/api/v1/pods?labelSelector=kubevirt.io%3Dvirt-launcher"
MOUNTS = "/run/virtshape/"
PAUSE = 0.2
PIECE = 65536
MAX_WAITING = 16
SHUTDOWN_SECONDS = 10.0


class RunningCommand:
    """An exec session over WebSocket messages; the first byte of each message is the stream number."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._out: asyncio.Queue[bytes] = asyncio.Queue(MAX_WAITING)
        self._task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        await asyncio.gather(self._pass_on(self._process.stdout, b"\x01"), self._pass_on(self._process.stderr, b"\x02"))
        status = await self._process.wait()
        end = {"metadata": {}, "status": "Failure", "message": f"the command has ended with exit status {status}"}
        await self._out.put(b"\x03" + json.dumps(end).encode() if status else SUCCESS)
        await self._out.put(b"")

    async def _pass_on(self, stream: asyncio.StreamReader, channel: bytes) -> None:
        while data := await stream.read(PIECE):
            await self._out.put(channel + data)

    async def read(self) -> bytes:
        return await self._out.get()

    async def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        if data[:1] == b"\x00":
            self._process.stdin.write(data[1:])
            with contextlib.suppress(ConnectionError):  # the command has already exited
                await self._process.stdin.drain()

    async def close(self) -> None:
        """Close the command's input, and kill the command if it does not exit in time, as container runtimes do."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(SHUTDOWN_SECONDS):
                while not self._task.done():
                    while not self._out.empty():
                        self._out.get_nowait()
                    await asyncio.sleep(0.01)
        except TimeoutError:
            self._task.cancel()
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
        await asyncio.gather(self._task, return_exceptions=True)
        with contextlib.suppress(asyncio.QueueFull):
            self._out.put_nowait(b"")


class Node:
    """A node whose polling loop runs launcher pods."""

    def __init__(self, plane: ControlPlane, directory: Path) -> None:
        self._plane = plane
        self._directory = directory
        self._pods: dict[str, Sandbox] = {}
        self._names: dict[str, str] = {}
        self._deadlines: dict[str, float] = {}

    def find_claim(self, namespace: str, name: str) -> Path:
        """Return the path of a claim's disk, which may not exist yet."""
        directory = self._directory / "claims" / namespace / name
        directory.mkdir(parents=True, exist_ok=True)
        return directory / "disk.img"

    def read_logs(self) -> str:
        """Return the logs of all launchers."""
        paths = [*self._directory.glob("pods/*/log"), *self._directory.glob("pods/*/run/guests/*/*.log")]
        return "\n".join(f"== {path}\n{path.read_text(errors='replace')[-4000:]}" for path in paths)

    async def run_command(self, request: Request) -> AnyResponse:
        """Run a command in a pod for an exec request."""
        consent = build_upgrade_headers(request)
        _, _, _, name, *_ = request.path.split("/")  # /exec/NAMESPACE/POD/CONTAINER
        sandbox = self._pods.get(self._names.get(name, ""))
        if consent is None or sandbox is None:
            return Response(404, f"{request.path} is not here".encode(), "text/plain")
        line = await asyncio.to_thread(sandbox.enter, request.query["command"])
        process = await asyncio.create_subprocess_exec(
            *line, env=sandbox.environment, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        return Upgrade(RunningCommand(process), consent, join_fragments=True)

    def sync(self) -> None:
        """Bind, start, stop or remove each pod, as its state requires."""
        code, listing = self._plane.request("GET", PODS)
        for pod in listing["items"] if code == 200 else ():
            metadata = pod["metadata"]
            if not (self._directory / "claims" / metadata["namespace"]).exists():
                continue
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            if not pod["spec"].get("nodeName") and not metadata.get("deletionTimestamp"):
                target = {"apiVersion": "v1", "kind": "Node", "name": NAME}
                self._plane.request(
                    "POST", f"{path}/binding", {"metadata": {"name": metadata["name"]}, "target": target}
                )
            elif pod["spec"].get("nodeName") in (NAME, None):
                self._sync_pod(pod, path)

    def _sync_pod(self, pod: JsonObject, path: str) -> None:
        uid, is_going = pod["metadata"]["uid"], bool(pod["metadata"].get("deletionTimestamp"))
        sandbox = self._pods.get(uid)
        if sandbox is None and not is_going and pod["status"].get("phase") == "Pending":
            self._start(pod)
        elif is_going and (sandbox is None or sandbox.status is not None):
            self._forget(uid)
            self._plane.request("DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}})
        elif is_going and sandbox is not None:
            self._stop(pod, sandbox)
        if sandbox is not None:
            self._report_status(pod, path, sandbox)

    def _start(self, pod: JsonObject) -> None:
        metadata, (container,) = pod["metadata"], pod["spec"]["containers"]
        variables = {one["name"]: one["value"] for one in container["env"]}
        sandbox = Sandbox(self._directory / "pods" / metadata["uid"], container["command"], variables)
        claims = {
            volume["name"]: volume["persistentVolumeClaim"]["claimName"]
            for volume in pod["spec"]["volumes"]
            if "persistentVolumeClaim" in volume
        }
        for mount in container["volumeMounts"]:
            if mount["name"] in claims:
                source = self.find_claim(metadata["namespace"], claims[mount["name"]]).parent
                sandbox.bind(source, mount["mountPath"].removeprefix(MOUNTS))
        sandbox.start()
        self._pods[metadata["uid"]] = sandbox
        self._names[metadata["name"]] = metadata["uid"]

    def _stop(self, pod: JsonObject, sandbox: Sandbox) -> None:
        uid, now = pod["metadata"]["uid"], time.monotonic()
        if uid not in self._deadlines:
            self._deadlines[uid] = now + pod["metadata"].get("deletionGracePeriodSeconds", 30)
            sandbox.stop()
        elif now > self._deadlines[uid]:
            sandbox.end()

    def _report_status(self, pod: JsonObject, path: str, sandbox: Sandbox) -> None:
        """Write the status of a pod if it has changed."""
        status, (spec,) = sandbox.status, pod["spec"]["containers"]
        has_started = sandbox.passes(spec.get("startupProbe"))
        is_ready = has_started and sandbox.passes(spec.get("readinessProbe"))
        container = {"name": "compute", "image": "", "imageID": "", "restartCount": 0}
        container |= {"started": has_started, "ready": is_ready}
        if status is None:
            phase, state = "Running", {"running": {"startedAt": pod["metadata"]["creationTimestamp"]}}
        else:
            phase = "Failed" if status else "Succeeded"
            state = {"terminated": {"exitCode": status, "message": sandbox.termination_message}}
            container |= {"started": False, "ready": False}
        known = (pod["status"].get("containerStatuses") or [{}])[0]
        before = pod["status"].get("phase"), known.get("started"), known.get("ready")
        if before != (phase, container["started"], container["ready"]):
            reported = {"phase": phase, "podIP": "10.1.2.3", "containerStatuses": [{**container, "state": state}]}
            merge = {"Content-Type": "application/merge-patch+json"}
            self._plane.request("PATCH", f"{path}/status", {"status": reported}, **merge)

    def _forget(self, uid: str) -> None:
        sandbox = self._pods.pop(uid, None)
        if sandbox is not None:
            sandbox.end()
            shutil.rmtree(sandbox.directory / "run", ignore_errors=True)

    def end(self) -> None:
        """Stop all running pods."""
        for sandbox in self._pods.values():
            sandbox.end()


@contextlib.contextmanager
def run_node(plane: ControlPlane, directory: Path) -> Iterator[Node]:
    """Run a node until the block ends."""
    node, ending, address = Node(plane, directory), threading.Event(), create_node(plane)
    listening = threading.Event()
    workers = [
        threading.Thread(target=lambda: asyncio.run(_serve(node, plane, address, listening, ending)), name="kubelet"),
        threading.Thread(target=_repeat, args=(node, listening, ending), name="pods"),
    ]
    for worker in workers:
        worker.start()
    try:
        yield node
    finally:
        ending.set()
        for worker in workers:
            worker.join()
        node.end()


def create_node(plane: ControlPlane) -> str:
    """Create the node and return the path of its status."""
    plane.request("POST", "/api/v1/nodes", {"metadata": {"name": NAME}})
    return f"/api/v1/nodes/{NAME}/status"


async def _serve(
    node: Node, plane: ControlPlane, path: str, listening: threading.Event, ending: threading.Event
) -> None:
    async with serve_kubelet(node.run_command) as status:
        merge = {"Content-Type": "application/merge-patch+json"}
        code, answer = await asyncio.to_thread(plane.request, "PATCH", path, {"status": status}, **merge)
        assert code == 200, answer
        listening.set()
        await asyncio.to_thread(ending.wait)


def _repeat(node: Node, listening: threading.Event, ending: threading.Event) -> None:
    listening.wait()
    while not ending.wait(PAUSE):
        with contextlib.suppress(OSError, HTTPException, json.JSONDecodeError):  # the API server is being restarted
            node.sync()
