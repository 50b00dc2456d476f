"""Signing in and out of the web console in a browser."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect
from tests.support.upprocess import System, call_virtshape

from virtshape.apiserver.auth.kubeconfig import find_token


def enter_token(page: Page, token: str) -> None:
    """Open the console and submit a token."""
    page.goto("/console/")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def test_user_signs_in_with_a_token_and_signs_out(page: Page, server: System) -> None:
    enter_token(page, server.config["token"])
    expect(page.get_by_role("heading", name="Virtual machines", exact=True)).to_be_visible()
    page.get_by_role("button", name="User admin").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("You are signed out.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Token")).to_be_visible()


def test_wrong_token_is_reported_next_to_the_input(page: Page) -> None:
    enter_token(page, "wrong")
    expect(page.get_by_label("Token")).to_have_attribute("aria-invalid", "true")


def test_one_time_link_signs_in_once_and_is_removed_from_the_address_bar(page: Page, server: System) -> None:
    printed = call_virtshape("open", "--print", "--data-dir", server.directory).stdout
    match = re.search(r"https://\S+", printed)
    assert match is not None, printed
    page.goto(match[0])
    expect(page.get_by_role("heading", name="Virtual machines", exact=True)).to_be_visible()
    assert "code" not in page.url
    page.context.clear_cookies()
    page.goto("about:blank")
    page.goto(match[0])
    expect(page.get_by_text("The link cannot be used")).to_be_visible()
    assert "code" not in page.url


def test_page_requests_a_new_sign_in_when_the_session_has_ended(signed_in_page: Page) -> None:
    page = signed_in_page
    page.clock.install()
    page.goto("/console/vms")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    page.context.clear_cookies()
    page.clock.fast_forward(20_000)  # the page loads the catalog every 20 seconds
    expect(page.get_by_text("Your session has ended.")).to_be_visible()


def test_user_without_access_to_a_namespace_can_choose_another(open_page: Callable[..., Page], server: System) -> None:
    made = call_virtshape(
        "user", "add", "local", "--role", "view", "--namespace", "kubevirt", "--token", "--data-dir", server.directory
    )
    page = open_page(server, token=find_token(made.stdout) or "")
    page.goto("/console/vms")
    expect(page.get_by_role("alert")).to_contain_text('cannot list resource "virtualmachines"')
    expect(page.get_by_role("alert")).to_contain_text("Choose another namespace")
    page.get_by_role("link", name="Instance types").click()
    expect(page.get_by_role("link", name="cx1.medium", exact=True)).to_be_visible()
    expect(page.get_by_text("objects in namespace default are not shown: not permitted")).to_be_visible()
    page.get_by_label("Namespace", exact=True).fill("kubevirt")
    page.keyboard.press("Enter")
    expect(page.get_by_text("not permitted")).to_have_count(0)
    page.get_by_role("link", name="Virtual machines").click()
    expect(page.get_by_role("heading", name="No virtual machines in namespace kubevirt")).to_be_visible()


def test_selected_theme_is_used_after_a_reload(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/vms")
    page.get_by_role("button", name="User admin").click()
    page.get_by_label("Theme").select_option("dark")
    page.reload()
    page.get_by_role("button", name="User admin").click()
    expect(page.get_by_label("Theme")).to_have_value("dark")
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == "dark"
