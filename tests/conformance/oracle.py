"""Run KubeVirt's engine in a Go process, built by tools/kubevirt/build.sh; it accepts the same lines as `answer.py`."""

import json
import subprocess
from typing import Self

from tests.support.kubevirt import find_program

from virtshape.api.model import JsonObject


class Oracle:
    """A running process of KubeVirt's engine."""

    def __init__(self) -> None:
        program = find_program("oracle")
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, op: str, question: JsonObject) -> JsonObject:
        """Return KubeVirt's result for a question."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"id": "", "op": op, "input": question}) + "\n")
        self.process.stdin.flush()
        result: JsonObject = json.loads(self.process.stdout.readline())["result"]
        return result

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()
