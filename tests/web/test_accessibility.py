"""Accessibility of the console's pages, in the light and the dark theme."""

from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import Page, expect
from tests.support.axe import list_violations
from tests.support.upprocess import System
from tests.support.webobjects import VMS, build_vm, create
from tests.support.webpages import sign_in

PAGES = {
    "/console/vms": "tbody tr",
    "/console/create": "section[aria-label='The resulting VM']",
    "/console/import": ".import-form",
    "/console/vms/default/accessible": "section[aria-label='Conditions'] .badge",
    "/console/vms/default/accessible?tab=events": "tbody tr",
    "/console/vms/default/accessible?tab=yaml": ".yaml-line",
    "/console/vms/default/missing": ".state h1",
    "/console/no/such/page": ".state h1",
    "/console/instancetypes": "tbody tr",
    "/console/instancetypes?view=cards&compare=u1.small,u1.large": ".shape-card",
    "/console/instancetypes?preference=windows.11": ".cell-reason",
    "/console/instancetypes/rt1.large": ".capacity-total",
    "/console/matrix?series=u1&os=windows": ".matrix-no",
    "/console/instancetypes/rt1.large?tab=yaml": ".yaml-line",
    "/console/preferences": ".shape-card",
    "/console/preferences/windows.11?tab=compatibility": ".compatibility-refused",
    "/console/compare/instancetypes?names=u1.large,cx1.large,rt1.large,cx1.custom": ".differs",
    "/console/compare/preferences?names=fedora,windows.11": ".differs",
}
"""Pages, each with the selector of an element that appears when the page is complete."""


@pytest.fixture(scope="module", autouse=True)
def vm(server: System) -> None:
    """A VM that the pages show."""
    create(server, VMS, build_vm("accessible"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_have_no_accessibility_violations(
    open_page: Callable[..., Page], server: System, scheme: Literal["light", "dark"]
) -> None:
    page = open_page(server, color_scheme=scheme)
    page.goto("/console/")
    expect(page.get_by_label("Token")).to_be_visible()
    found = {"signing in": list_violations(page)}
    sign_in(page.context, server.url, server.config["token"])
    for path, content in PAGES.items():
        page.goto(path)
        expect(page.locator(content).first).to_be_visible()
        found[path] = list_violations(page)
    page.get_by_role("button", name="User admin").click()
    found["menu of the user"] = list_violations(page)
    assert {path: violations for path, violations in found.items() if violations} == {}
