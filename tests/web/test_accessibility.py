"""Accessibility of the console's pages, in light and dark."""

from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import Page, expect
from tests.support.axe import list_violations
from tests.support.upprocess import System
from tests.support.webobjects import VMS, build_vm, create

PAGES = {
    "/console/vms": "tbody tr",
    "/console/create": "section[aria-label='The resulting VM']",
    "/console/vms/default/accessible": "section[aria-label='Conditions'] .badge",
    "/console/vms/default/accessible?tab=events": "tbody tr",
    "/console/vms/default/accessible?tab=yaml": ".yaml-line",
    "/console/vms/default/missing": ".state h1",
    "/console/no/such/page": ".state h1",
}


@pytest.fixture(scope="module", autouse=True)
def vm(server: System) -> None:
    """A VM that the pages show."""
    create(server, VMS, build_vm("accessible"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_page_has_no_accessibility_violations(
    open_page: Callable[..., Page], server: System, path: str, scheme: Literal["light", "dark"]
) -> None:
    page = open_page(server, token=server.config["token"], color_scheme=scheme)
    page.goto(path)
    expect(page.locator(PAGES[path]).first).to_be_visible()
    assert list_violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_sign_in_page_has_no_accessibility_violations(
    open_page: Callable[..., Page], server: System, scheme: Literal["light", "dark"]
) -> None:
    page = open_page(server, color_scheme=scheme)
    page.goto("/console/")
    expect(page.get_by_label("Token")).to_be_visible()
    assert list_violations(page) == []
