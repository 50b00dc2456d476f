"""Sessions in a browser: cookies, scripts and permissions."""

from playwright.sync_api import Page
from tests.support.webpages import SESSION


def fetch_status(page: Page, path: str, method: str = "GET") -> int:
    """Return the status code of a request sent by a script on the page."""
    status: int = page.evaluate(
        "([path, method]) => fetch(path, {method}).then(response => response.status)", [path, method]
    )
    return status


def test_session_cookie_is_sent_by_the_browser_but_not_readable_by_scripts(signed_in_page: Page) -> None:
    signed_in_page.goto("/console/")
    assert fetch_status(signed_in_page, "/api/v1/namespaces") == 200
    assert signed_in_page.evaluate("document.cookie") == ""
    (cookie,) = signed_in_page.context.cookies()
    assert (cookie["httpOnly"], cookie["secure"], cookie["sameSite"]) == (True, True, "Strict")
    assert fetch_status(signed_in_page, SESSION, "DELETE") == 403, "the CSRF token is missing"


def test_page_without_a_session_cannot_read_the_api(page: Page) -> None:
    page.goto("/console/")
    assert fetch_status(page, "/api/v1/namespaces") == 401


def test_viewer_can_read_but_not_write(viewer_page: Page) -> None:
    viewer_page.goto("/console/")
    session = viewer_page.evaluate("path => fetch(path).then(response => response.json())", SESSION)
    assert session["username"] == "viewer"
    status = viewer_page.evaluate(
        """token => fetch("/api/v1/namespaces/default/configmaps", {
            method: "POST",
            headers: {"Content-Type": "application/json", "X-CSRF-Token": token},
            body: JSON.stringify({apiVersion: "v1", kind: "ConfigMap", metadata: {name: "x"}}),
        }).then(response => response.status)""",
        session["csrfToken"],
    )
    assert status == 403
    assert fetch_status(viewer_page, "/apis/kubevirt.io/v1/virtualmachines") == 200
