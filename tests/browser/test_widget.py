"""The widget in a page as anywidget makes it: a module, an element, and a model whose messages the kernel answers."""

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import bertexplorer as bx
from tests.browser.conftest import opened
from tests.browser.test_access import wrong

pytest.importorskip("anywidget", reason="the widget is an extra: pip install bertexplorer[notebook]")

HOST = """async ({ esm, css, link }) => {
  document.title = "A notebook";
  document.documentElement.lang = "en";
  document.body.replaceChildren(Object.assign(document.createElement("main"), { id: "cell" }));
  const place = document.getElementById("cell").attachShadow({ mode: "open" });  // as marimo does
  place.append(Object.assign(document.createElement("style"), { textContent: css }), document.createElement("div"));
  const heard = {}, values = { link };
  const model = {
    get: (name) => values[name],
    set: (name, value) => { values[name] = value; },
    save_changes: () => window.saved(JSON.stringify(values)),
    on: (name, hear) => { heard[name] = hear; },
    off: () => {},
    send: async (message) => heard["msg:custom"](JSON.parse(await window.kernel(JSON.stringify(message)))),
  };
  window.change = (to) => { values.link = to; heard["change:link"](); };
  const { default: widget } = await import(URL.createObjectURL(new Blob([esm], { type: "text/javascript" })));
  await widget.render({ model, el: place.querySelector("div") });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_answers_without_a_server(browser: Browser, scheme: str) -> None:
    widget: Any = bx.widget("attention", "The cat sat on the mat.", pick="cat")
    sent: list[dict[str, Any]] = []
    saved: list[str] = []
    widget.send = sent.append

    def kernel(message: str) -> str:
        widget.answer(widget, json.loads(message), [])
        return json.dumps(sent.pop())

    with opened(browser, "about:blank", scheme=scheme) as page:
        page.expose_function("kernel", kernel)
        page.expose_function("saved", lambda values: saved.append(values))
        page.evaluate(
            "dark => document.documentElement.setAttribute('theme', dark ? 'dark' : 'light')", scheme == "dark"
        )
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.evaluate(HOST, {"esm": widget._esm, "css": widget._css, "link": widget.link})
        expect(page.locator("bx-view .said").first).to_contain_text("Each tile is a head")
        expect(page.locator("bx-figure .tiles").first).to_be_visible()
        # 1. A token is pressed, and the view and Python change.
        page.locator(".chip", has_text="mat").click()
        expect(page.locator(".chip.picked, .chip[aria-pressed=true]", has_text="mat")).to_be_visible()
        assert widget.state["picked"] == "0:19-22"
        # 2. Another view, and a text without a mask: it says what is missing.
        page.get_by_role("button", name="Hide a word").click()
        expect(page.locator(".message")).to_contain_text("Nothing is hidden")
        expect(page.get_by_role("tab", name="One mask")).to_have_attribute("aria-selected", "true")
        page.locator("bx-view textarea").first.fill("The [MASK] sat on the mat.")
        expect(page.locator("bx-view .said").first).to_contain_text("It would put")
        assert widget.result.rows[0]["token"] in page.locator("bx-view .said").first.inner_text()
        assert re.search("view=fill-mask", json.loads(saved[-1])["link"])
        # 3. Python changes the view.
        page.evaluate("link => window.change(link)", "?view=tokenization&text=Unbelievable&checkpoint=mini")
        expect(page.get_by_role("tab", name="Pieces", exact=True)).to_be_visible()
        expect(page.locator("bx-view .said").first).to_contain_text("tokens")
        assert not [url for url in requests if not url.startswith(("blob:", "data:"))]
        assert wrong(page) == []
