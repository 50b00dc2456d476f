"""Signing in and out of the web console in a browser."""

import re

from playwright.sync_api import Page, expect
from tests.support.upprocess import System, call_virtshape


def enter_token(page: Page, token: str) -> None:
    """Open the console and submit a token."""
    page.goto("/console/")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in").click()


def test_token_signs_in_and_sign_out_ends_the_session(page: Page, server: System) -> None:
    enter_token(page, server.config["token"])
    expect(page.get_by_role("heading", name="Virtual machines", exact=True)).to_be_visible()
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


def test_page_asks_to_sign_in_again_when_the_session_has_ended(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/vms")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    page.context.clear_cookies()
    expect(page.get_by_text("Your session has ended.")).to_be_visible()  # the page loads the catalog every 20 seconds


def test_selected_theme_is_kept_after_a_reload(signed_in_page: Page) -> None:
    page = signed_in_page
    page.goto("/console/vms")
    page.get_by_label("Theme").select_option("dark")
    page.reload()
    expect(page.get_by_label("Theme")).to_have_value("dark")
    assert page.evaluate("getComputedStyle(document.body).colorScheme") == "dark"
