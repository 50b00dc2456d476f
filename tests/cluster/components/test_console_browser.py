"""The web console on a real API server, in Chromium."""

import pytest
from playwright.sync_api import expect
from tests.cluster.install import retry
from tests.support.kubectl import Kubectl
from tests.support.webpages import PageWatcher, open_chromium

pytestmark = pytest.mark.usefixtures("aggregated", "webhook")
MILLISECONDS = 240_000


def test_viewer_signed_in_with_a_token_sees_the_vms_of_the_namespace_but_no_uploads(
    console: str, kubectl: Kubectl
) -> None:
    kubectl.apply(
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachine",
            "metadata": {"name": "web"},
            "spec": {
                "runStrategy": "Halted",
                "instancetype": {"name": "u1.small"},
                "template": {"spec": {"domain": {"devices": {}}}},
            },
        }
    )
    kubectl("create", "serviceaccount", "viewer")
    kubectl("create", "rolebinding", "viewer", "--clusterrole=view", f"--serviceaccount={kubectl.namespace}:viewer")
    token = kubectl("create", "token", "viewer").strip()
    user = f"--as=system:serviceaccount:{kubectl.namespace}:viewer"
    retry(lambda: kubectl("auth", "can-i", "list", "vm", user))  # RBAC changes take effect asynchronously
    with open_chromium() as browser:
        context = browser.new_context(base_url=console, ignore_https_errors=True)
        context.set_default_timeout(MILLISECONDS)
        watcher = PageWatcher(context, console)
        page = context.new_page()
        page.goto("/console/")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        # A text field without names to choose from, because the viewer may not list namespaces.
        namespace = page.get_by_role("textbox", name="Namespace")
        namespace.fill(kubectl.namespace)
        namespace.press("Enter")
        expect(page.get_by_role("link", name="web", exact=True)).to_be_visible(timeout=MILLISECONDS)
        page.goto("/console/create")
        sources = page.get_by_label("Boot from").locator("option")
        wanted = ["Container disk", "DataSource", "Persistent volume claim", "DataVolume"]
        expect(sources).to_have_text(wanted, timeout=MILLISECONDS)
        context.close()
    assert watcher.problems == []
