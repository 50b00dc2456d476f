"""
A browser, servers, and pages of the web console.

Every page is checked at the end of its test: no uncaught error, no violation of the content security policy, and no
request to another origin.
"""

import shutil
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from tests.support.demo import get_demo
from tests.support.guests import require_qemu
from tests.support.upprocess import System, call_virtshape
from tests.support.webpages import PageWatcher, open_chromium, sign_in

from virtshape.apiserver.auth.kubeconfig import find_token

VIEWER = "viewer"
expect.set_options(timeout=240_000)  # milliseconds; the machine may be busy


@pytest.fixture(scope="module")  # while Playwright runs, tests of other modules cannot run an event loop
def browser() -> Iterator[Browser]:
    """Headless Chromium."""
    with open_chromium() as running:
        yield running


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A server with simulated guests and the catalog."""
    with System(tmp_path_factory.mktemp("web") / "data", "--launcher", "simulate") as running:
        yield running
    log = running.log.read_text()
    assert "ERROR" not in log, log


@pytest.fixture(scope="session")
def qemu_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """A server that runs QEMU guests and has the demo image."""
    require_qemu()
    data = tmp_path_factory.mktemp("webguests") / "data"
    (data / "images" / "demo").mkdir(mode=0o700, parents=True)
    for path in get_demo(request.config):
        shutil.copy(path, data / "images" / "demo")
    with System(data, "--launcher", "qemu") as running:
        yield running
        stopped = call_virtshape("down", "--guests", "--data-dir", running.directory)
        assert stopped.returncode == 0, stopped.stderr


@pytest.fixture(scope="session")
def viewer_token(server: System) -> str:
    """The token of the user `viewer`, who may only read."""
    made = call_virtshape("user", "add", VIEWER, "--role", "view", "--token", "--data-dir", server.directory)
    assert made.returncode == 0, made.stderr
    return find_token(made.stdout) or ""


OpenPage = Callable[..., Page]
"""Opens a page: `open_page(server)`, `open_page(server, token=...)`, `open_page(server, color_scheme="dark")`."""


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Open pages in separate browser contexts; a page with a token is signed in."""
    contexts: list[BrowserContext] = []
    watchers: list[PageWatcher] = []

    def open_one(server: System, token: str = "", **options: object) -> Page:
        context = browser.new_context(
            base_url=server.url,
            ignore_https_errors=True,
            viewport={"width": 1280, "height": 800},
            **options,  # type: ignore[arg-type]  # options of Playwright
        )
        context.set_default_timeout(240_000)
        contexts.append(context)
        watchers.append(PageWatcher(context, server.url))
        if token:
            sign_in(context, server.url, token)
        return context.new_page()

    yield open_one
    problems = [problem for watcher in watchers for problem in watcher.problems]
    for context in contexts:
        context.close()
    assert problems == []


@pytest.fixture
def page(open_page: OpenPage, server: System) -> Page:
    """A page in a browser that is not signed in."""
    return open_page(server)


@pytest.fixture
def signed_in_page(open_page: OpenPage, server: System) -> Page:
    """A page that is signed in as the administrator."""
    return open_page(server, token=server.config["token"])


@pytest.fixture
def viewer_page(open_page: OpenPage, server: System, viewer_token: str) -> Page:
    """A page that is signed in as the user `viewer`."""
    return open_page(server, token=viewer_token)
