"""
Probes in a separate process: health checks, renewals of a lease and reads, as kubelets and leaders send them.

In the process of the other clients, a probe would also wait for those clients; here it waits only for the server.
The process prints a line for each response: the kind of request, the status code and the response time.
"""

import itertools
import json
import sys
import time
from http.client import HTTPSConnection
from pathlib import Path
from ssl import create_default_context
from typing import Final
from urllib.parse import urlsplit

from tests.support.loopback import MERGE_PATCH

LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def main(url: str, authority: str, token: str, name: str, pause: float) -> None:
    """Send requests until the process is killed."""
    address = urlsplit(url)
    tls = create_default_context(cadata=authority)
    connection = HTTPSConnection(str(address.hostname), address.port, context=tls)

    def send(kind: str, method: str, path: str, tree: object = None, content_type: str = "application/json") -> None:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": content_type}
        began = time.perf_counter()
        connection.request(method, path, None if tree is None else json.dumps(tree), headers)
        response = connection.getresponse()
        response.read()
        print(kind, response.status, time.perf_counter() - began, flush=True)  # noqa: T201 - read by the test

    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}}
    send("create", "POST", LEASES, lease)
    for number in itertools.count():
        send("health", "GET", "/livez")
        send("lease", "PATCH", f"{LEASES}/{name}", {"spec": {"leaseTransitions": number}}, MERGE_PATCH)
        send("get", "GET", f"{LEASES}/{name}")
        time.sleep(pause)


if __name__ == "__main__":
    given_url, authority_file, given_token, given_name, given_pause = sys.argv[1:]
    main(given_url, Path(authority_file).read_text(), given_token, given_name, float(given_pause))
