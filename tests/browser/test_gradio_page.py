"""The page that gradio draws shows every endpoint with an example, and asks no other host."""

import re
from urllib.parse import urlsplit

from gradio_client import Client
from playwright.sync_api import Browser, expect

from bertexplorer.views import VIEWS


def test_explore_leads_to_an_example_that_runs(browser: Browser, address: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    hosts = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.goto(address)
    page.get_by_role("link", name="Gradio’s clients").click()
    page.get_by_role("button", name="Use via API").click()
    expect(page.get_by_text(f"{len(VIEWS) + 4} API endpoints")).to_be_visible()
    shown = page.locator("pre", has_text='api_name="/fill_mask"').filter(has_text="print(").first.inner_text()
    context.close()
    assert hosts == {urlsplit(address).netloc}
    call = re.search(r"client\.predict\((.*)\)\s*print", shown, re.DOTALL)
    assert call, shown
    client = Client(address, verbose=False, analytics_enabled=False)
    assert eval(f"client.predict({call[1]})")["said"], "the example runs as it is"
    client.close()
