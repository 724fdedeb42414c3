"""The pages as a server sends them: each with its script and links, below any path, without gradio."""

import re

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from bertexplorer.web.mount import mount
from bertexplorer.web.page import FONTS, PAGES, STATIC, STYLES, fonts, scripts

ADDRESSES = {"explore": "/", "learn": "/learn", "train": "/train", "pretrain": "/pretrain"}


def opened(*, runs: bool = True, root_path: str = "") -> TestClient:
    app = FastAPI()
    mount(app, runs=runs)
    return TestClient(app, root_path=root_path, follow_redirects=False)


@pytest.fixture
def client() -> TestClient:
    return opened()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_its_script_its_styles_and_links_to_the_others(client: TestClient, name: str) -> None:
    answer = client.get(ADDRESSES[name])
    html = answer.text
    assert answer.status_code == 200 and answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-cache"
    assert re.findall(r'<script type="module" src="(.*?)">', html) == [f"{scripts()}/{name}.js"]
    assert f'<div id="{name}"></div>' in html and "<noscript>" in html
    links = re.findall(r'<a href="(.*?)"( aria-current="page")?>(\w+)</a>', html)
    assert [(to, shown) for to, _, shown in links] == [
        ("./", "Explore"),
        ("learn", "Learn"),
        ("train", "Train"),
        ("pretrain", "Pretrain"),
    ]
    assert [shown for _, current, shown in links if current] == [name.title()]
    for address in re.findall(r'(?:href|src)="(scripts/.*?)"', html):
        assert client.get(f"/{address}").status_code == 200, address


def test_every_page_has_a_title_of_its_own(client: TestClient) -> None:
    found = [re.findall("<title>(.*?)</title>", client.get(address).text) for address in ADDRESSES.values()]
    assert found == [
        ["BERT Explorer"],
        ["Learn · BERT Explorer"],
        ["Train · BERT Explorer"],
        ["Pretrain · BERT Explorer"],
    ]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_script_in_it_and_none_of_gradio(client: TestClient, name: str) -> None:
    html = client.get(ADDRESSES[name]).text
    assert "gradio" not in html and "/assets/" not in html
    assert re.findall(r"<script[^>]*>(.+?)</script>", html) == []


@pytest.mark.parametrize("name", PAGES)
def test_all_addresses_are_relative(name: str) -> None:
    """A proxy may serve the pages below a path, which is not in what they send."""
    html = opened(root_path="/below/a/path").get(ADDRESSES[name]).text
    addresses = re.findall(r'(?:href|src)="(.*?)"', html)
    assert len(addresses) > 8 and not [one for one in addresses if one.startswith(("/", "http"))]
    assert "/below" not in html


@pytest.mark.parametrize("name", ["learn", "train", "pretrain"])
def test_a_slash_too_many_leads_back(client: TestClient, name: str) -> None:
    answer = client.get(f"/{name}/?text=a%20b&lesson=%22")
    assert answer.is_redirect and answer.headers["location"] == f"../{name}?text=a%20b&lesson=%22"
    assert client.get(f"/{name}/").headers["location"] == f"../{name}"


def test_a_reload_of_gradios_panel_leads_back_to_it(client: TestClient) -> None:
    answer = client.get("/?view=api")
    assert answer.is_redirect and answer.headers["location"] == "gradio"
    assert client.get("/?view=attention").status_code == 200


def test_head_answers_as_get_does(client: TestClient) -> None:
    for address in ADDRESSES.values():
        head, got = client.head(address), client.get(address)
        assert head.status_code == 200 and head.headers == got.headers and not head.content


def test_without_runs_nothing_leads_to_train_and_pretrain() -> None:
    client = opened(runs=False)
    for address in ("/", "/learn"):
        assert re.findall(r'<a href="(.*?)"', client.get(address).text) == ["./", "learn"]
    for address in ("/train", "/pretrain", "/train/"):
        assert client.get(address, follow_redirects=True).status_code == 404


def test_fonts_and_the_common_style_are_beside_the_scripts(client: TestClient) -> None:
    frame = (STATIC / "frame.css").read_text("utf-8")
    assert re.findall(r'url\("fonts/(.*?)"\)', frame) == list(FONTS)
    for font in FONTS:
        answer = client.get(f"/{scripts()}/fonts/{font}", headers={"accept-encoding": "gzip"})
        assert answer.content == (fonts() / font).read_bytes() and "content-encoding" not in answer.headers
    assert ".masthead" in client.get(f"/{scripts()}/style.css").text


def test_changed_scripts_have_a_new_address(client: TestClient) -> None:
    assert re.fullmatch(r"scripts/[0-9a-f]{12}", scripts())
    assert set(re.findall("scripts/[^/]+", client.get("/").text)) == {scripts()}


def test_every_style_of_a_page_exists() -> None:
    assert all((STATIC / style).is_file() for styles in STYLES.values() for style in styles)
