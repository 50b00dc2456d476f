"""Run Chromium for tests of the web console, sign in, and record errors and forbidden requests of pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Request, WebError, sync_playwright

FLAGS: Final = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SESSION: Final = "/console/session"
TIMEOUT: Final = 300_000  # milliseconds; the machine may be busy


def find_chromium() -> str | None:
    """Return the path of Chromium, or None."""
    return shutil.which("chromium")


@contextmanager
def open_chromium() -> Iterator[Browser]:
    """Run headless Chromium while the block runs; meanwhile, tests of this thread cannot run an event loop."""
    path = find_chromium()
    if path is None:
        pytest.skip("chromium is missing: tools/browser/install.sh installs it")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=TIMEOUT)
        yield running
        running.close()


class PageWatcher:
    """Records uncaught errors, violations of the content security policy and requests to other origins."""

    def __init__(self, context: BrowserContext, origin: str) -> None:
        self.problems: list[str] = []
        self._origins = (f"{origin}/", f"{origin.replace('https:', 'wss:')}/", "data:", "blob:")
        context.on("weberror", self._note_error)
        context.on("console", self._note_message)
        context.on("request", self._note_request)

    def _note_error(self, error: WebError) -> None:
        self.problems.append(f"uncaught error: {error.error}")

    def _note_message(self, message: ConsoleMessage) -> None:
        if message.type == "error" and "Content Security Policy" in message.text:
            self.problems.append(message.text)

    def _note_request(self, request: Request) -> None:
        if not request.url.startswith(self._origins):
            self.problems.append(f"request to another origin: {request.url}")


def sign_in(context: BrowserContext, origin: str, token: str) -> None:
    """Start a session and store its cookie in the browser."""
    response = context.request.post(SESSION, data={"token": token}, headers={"Origin": origin}, timeout=TIMEOUT)
    assert response.ok, response.text()
