"""Published vulnerabilities of gradio and starlette, tried on the whole server: rejected with a sentence, or without
effect. The ids are those of the advisories; test_request_filter.py covers what the request filter alone rejects."""

import http.client
import io
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from bertexplorer.runs import export
from bertexplorer.store import uploads
from tests.runs.running import until
from tests.server.conftest import lines
from tests.server.talk import FILES, PREVIEW, ROWS, VIEW, Browser, state

FILE = "/gradio_api/file="
SECRETS = (b"root:", b"s3cret", b"[tool.", b"import gradio")
LOCAL = {"path": "/etc/passwd", "url": "file:///etc/passwd", "orig_name": "a.csv", "meta": {"_type": "gradio.FileData"}}
PATHS = ("/etc/passwd", "{data}/secret", "README.md", "http://example.com/x", "{data}/tmp/../secret", "\0", "x" * 5000,
         "..", "../secret", ".")  # fmt: skip
READS = {
    "CVE-2021-43831": "/file/../../../../../../etc/passwd",
    "CVE-2023-34239": f"{FILE}/etc/passwd",
    "CVE-2023-51449": f"{FILE}{{tmp}}/%2e%2e/kept.txt",
    "CVE-2024-47164": f"{FILE}{{tmp}}/../kept.txt",
    "CVE-2024-47164-encoded-twice": f"{FILE}{{tmp}}/%252e%252e/kept.txt",
    "CVE-2024-47164-backslash": f"{FILE}{{tmp}}/..%5ckept.txt",
    "CVE-2024-12217-stream": f"{FILE}{{kept}}::$DATA",
    "CVE-2024-12217-stream-encoded": f"{FILE}{{kept}}%3A%3A%24DATA",
    "CVE-2025-23042-case": f"{FILE}{{KEPT}}",
    "CVE-2026-28414-windows": f"{FILE}C:/Windows/win.ini",
    "CVE-2026-28414-rooted": f"{FILE}%5cWindows%5cwin.ini",
    "UNC": f"{FILE}%5c%5cevil.example%5cshare",
    "UNC-slashes": f"{FILE}//evil.example/share",
    "PYSEC-2024-197-custom-component": "/gradio_api/custom_component/x/client/component/..%2f..%2f..%2fetc%2fpasswd",
    "CVE-2026-49119-file-explorer": "/gradio_api/component_server",
    "PYSEC-2026-1408-save-url": f"{FILE}http://127.0.0.1:1/x",
    "CVE-2026-59806-file-url": f"{FILE}hTTps:/example.com/x",
    "CVE-2026-28416-proxy": "/gradio_api/proxy=http://169.254.169.254/latest",
    "GHSA-2mr9-proxy-cookies": "/proxy=https://x.hf.space/",
    "uploads-parent": f"{FILES}/..%2fkept.txt",
    "uploads-dots": f"{FILES}/%2e%2e/kept.txt",
    "uploads-encoded-twice": f"{FILES}/%252e%252e%252fkept.txt",
    "uploads-backslash": f"{FILES}/..%5ckept.txt",
    "uploads-absolute": f"{FILES}/{{kept}}",
    "uploads-absolute-encoded": f"{FILES}/%2fetc%2fpasswd",
    "uploads-folder": f"{FILES}/..",
    "uploads-NUL": f"{FILES}/a%00",
    "run-folder": "/api/v1/runs/..%2f..%2fkept.txt/events",
    "run-dots": "/api/v1/runs/../report",
    "suite-dots": "/api/v1/suites/%2e%2e/cases",
    "device": f"{FILE}/dev/zero",
    "process": f"{FILE}/proc/self/environ",
    "data-folder-secret": f"{FILE}{{data}}/secret",
    "data-folder-runs": f"{FILE}{{data}}/runs/jobs.sqlite",
    "source": f"{FILE}{Path(__file__).parents[2]}/app.py",
    "static": "/static/..%2f..%2f..%2f..%2fetc%2fpasswd",
    "assets": "/assets/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "svelte": "/svelte/..%5c..%5cetc%5cpasswd",
    "NUL": f"{FILE}{{tmp}}/a%00.txt",
}


def raw(running: Any, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes, Any]:
    """(status, body, headers) of a request whose path is sent verbatim; HTTP clients would normalise it."""
    host, _, port = running.url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    connection.putrequest(method, path)
    for name, value in {**headers, "content-length": str(len(body))}.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders(body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content, answer.headers


@pytest.mark.parametrize("path", READS.values(), ids=READS)
def test_requests_read_no_other_file_or_address(running: Any, path: str) -> None:
    data = running.settings.data_dir
    secret_file = data / "kept.txt"
    secret_file.write_text("s3cret")
    target = path.format(tmp=data / "tmp", kept=secret_file, KEPT=str(secret_file).upper(), data=data)
    for method in ("GET", "POST"):
        status, content, headers = raw(running, method, target)
        assert status in (400, 403, 404, 405), content[:200]
        assert content.strip() and not any(secret in content for secret in SECRETS) and "location" not in headers


ROUTES = (
    *("/login", "/login/huggingface", "/logout", "/token", "/user", "/login_check", "/app_id", "/dev/reload"),
    *("/gradio_api/token", "/gradio_api/user", "/gradio_api/startup-events", "/pwa_icon"),
    *("/gradio_api/mcp/sse", "/gradio_api/mcp/", "/gradio_api/deep_link", "/monitoring/x", "/docs", "/redoc"),
    *("/gradio_api/run/answer", "/gradio_api/api/answer", "/gradio_api/call/predict", "/gradio_api/call/v2/predict"),
    *("/gradio_api/process_recording", "/gradio_api/vibe-edit", "/gradio_api/profiling/traces", "/gradio_api/runs"),
    *(() if find_spec("mcp") else ("/mcp",)),  # with the extra, it is a route of ours
    *("/gradio_api/stream/s/1/2/playlist.m3u8", "/gradio_api/run-history/connect", "/gradio_api/queue/status"),
    *("/gradio_api/queue/data?session_hash=a", "/gradio_api/reset"),
    *("/gradio_api/upload", "/gradio_api/upload_progress?upload_id=a", f"{FILE}a.csv", "/gradio_api/heartbeat/a"),
)


@pytest.mark.parametrize("path", ROUTES)
def test_routes_that_bypass_the_page_do_not_exist(running: Any, path: str) -> None:
    """CVE-2026-27167 (a login that hands out the server's token), a bypass of the queue, MCP, monitoring."""
    for method in ("GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
        status, content, headers = raw(running, method, path)
        assert status in (404, 405) and content.strip() and "location" not in headers


@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
def test_an_argument_of_an_endpoint_gives_no_access_to_a_file(running: Any, path: str) -> None:
    """CVE-2024-47868, PYSEC-2024-274: gradio takes an object for a file, copies it to where it serves files from, and
    tells its path."""
    path = path.format(data=running.settings.data_dir)
    local = {**LOCAL, "path": path}
    client = httpx.Client(base_url=running.url)  # one for all: to make one takes longer than to be refused
    listed = client.get("/config").json()["dependencies"]
    number = next(one["id"] for one in listed if one["api_name"] == "nearest_pieces")
    described = client.get("/gradio_api/info").json()["named_endpoints"]["/nearest_pieces"]["parameters"]
    usual = [one["example_input"] for one in described]
    before = {file for file in running.settings.data_dir.rglob("*") if file.is_file()}
    for value in (local, [local], [[local]], {"a": local}):
        for place in range(len(usual)):
            data = [value if at == place else one for at, one in enumerate(usual)]
            call = {"data": data, "fn_index": number, "session_hash": "thief"}
            answer = client.post("/gradio_api/queue/join", json=call)
            assert answer.status_code == 422 and "root:" not in answer.text and "an object" in answer.text, answer.text
            answer = client.post("/gradio_api/call/nearest_pieces", json={"data": data})
            assert answer.status_code == 422, answer.text
            answer = client.post("/gradio_api/call/v2/nearest_pieces", json={"text": value})
            assert answer.status_code == 422, answer.text
    assert {file for file in running.settings.data_dir.rglob("*") if file.is_file()} == before


@pytest.mark.parametrize("path", ["//evil.example/", "/%5cevil.example", "/%2f%2fevil.example", "/train//evil.example",
                                  "/?_target_url=https://evil.example", "/?next=//evil.example"])  # fmt: skip
def test_redirects_stay_on_this_server(running: Any, path: str) -> None:
    """PYSEC-2026-1414, CVE-2026-28415: open redirects."""
    assert "location" not in raw(running, "GET", path)[2]


@pytest.mark.parametrize("name", ["x_forwarded_host", "x_forwarded_prefix", "x_forwarded_server", "forwarded",
                                  "x_original_url", "x_gradio_server"])  # fmt: skip
def test_a_header_does_not_determine_the_address_of_the_server(running: Any, name: str) -> None:
    """A host named in one would appear in the page as the host of its scripts, and a proxy could cache it."""
    for path in ("/", "/config"):
        assert b"evil.example" not in raw(running, "GET", path, **{name: "evil.example"})[1]


LINKS = ("../../../../etc/passwd", "..%2f..%2fsecret", "x" * 4000, "%00", "a/b", "C:%5cx")


@pytest.mark.parametrize("link", LINKS, ids=range(len(LINKS)))
def test_a_deep_link_reads_no_file(running: Any, link: str) -> None:
    for path in ("/", "/config", "/train"):
        status, content, _ = raw(running, "GET", f"{path}?deep_link={link}")
        assert status < 500 and b"root:" not in content and b"Traceback" not in content


@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
def test_a_value_does_not_give_access_to_a_file(running: Any, path: str) -> None:
    """GHSA-f3h9-8phc-6gvh, CVE-2024-47868, PYSEC-2026-1408: a path in JSON where a file was, or where none ever was."""
    browser, jobs = Browser(running.url), running.service.jobs
    run = jobs.accept(browser.owner, "of files", {"kind": "finetuning", "task": "classification"}).id
    jobs.stop(run, browser.owner)
    path = path.format(data=running.settings.data_dir)
    local = {**LOCAL, "path": path}
    secret_file = running.settings.data_dir / "secret"
    secret_file.write_text("s3cret")
    before = set(running.settings.uploads_dir.rglob("*"))
    task: dict[str, Any] = {"task": "classification"}
    refused = [
        (address, {**task, name: value})
        for address in (PREVIEW, "/api/v1/runs")
        for name in ("file", "dev_file", "rows", "dev", "checkpoint")
        for value in (path, local, [path])
    ]
    refused += [
        (address, {**task, name: [{"text": "a", "label": "b", "file": local}] * 3, "file": path})
        for address in (PREVIEW, "/api/v1/runs")
        for name in ("rows", "dev")
    ]
    refused += [("/api/v1/trials", {"experiment": "floor", "minutes": 1, "file": value}) for value in (path, local)]
    refused += [("/api/v1/suites", {name: value}) for name in ("checkpoint", "rows") for value in (path, local)]
    refused += [("/api/v1/checkpoints", {"name": value}) for value in (path, local) if "://" not in path]
    refused += [(f"/api/v1/runs/{run}/{what}", {"row": {"text": local}}) for what in ("try", "influence")]
    refused += [(f"/api/v1/runs/{run}/export", {"kind": value}) for value in (path, local)]
    refused += [(f"/api/v1/runs/{run}/rename", {"name": local}), ("/api/v1/fill-mask", {"text": local})]
    for address, given in refused:
        answer = browser.post(address, json=given)
        assert answer.status_code in (400, 422), (address, given, answer.text)
        assert answer.json()["detail"] and "root:" not in answer.text and "s3cret" not in answer.text
    for given in (state(local), state(checkpoint=path), state(options={"words": local}), {"link": local}):
        answer = browser.post(VIEW, json=given)
        assert answer.status_code < 500 and "root:" not in answer.text and "s3cret" not in answer.text
    secret_file.unlink()
    assert set(running.settings.uploads_dir.rglob("*")) == before, "nothing is copied to where files are served from"
    assert [each["id"] for each in browser.get("/api/v1/runs").json()] == [run], "nothing was started from it"
    until(lambda: jobs.run(run, None).state == "stopped")
    jobs.delete(run, None)


def test_an_uploaded_file_is_accepted(running: Any) -> None:
    browser = Browser(running.url)
    found = browser.preview(file=browser.upload("a.csv", ROWS))
    assert found.status_code == 200 and found.json()["mapping"] == {"text": "text", "label": "label"}, found.text


NAMES = ("../../x.txt", "..\\..\\x.txt", "/etc/passwd", "C:\\x.txt", "a\x00b.txt", "CON", "\u202egnp.exe", "x" * 400,
         "<img src=x onerror=1>.csv", "a\r\nset-cookie: x=1.txt", "a;b|c`d`$(e).txt", ".", "..")  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_an_uploaded_file_stays_in_the_uploads_folder(running: Any, name: str) -> None:
    folder = running.settings.uploads_dir.resolve()
    before = {path for path in folder.parent.rglob("*") if path.is_file()}
    got = httpx.post(f"{running.url}{FILES}", files={"file": (name, b"x")}, timeout=60)
    assert got.status_code in (200, 400), got.text
    added = {path for path in folder.parent.rglob("*") if path.is_file() and path.name[:4] != ".of-"} - before
    new = {path for path in added if path.read_bytes() == b"x"}
    if got.status_code == 200:
        (path,) = new
        assert path.resolve().parent.parent == folder and path == folder / got.json()["file"] / got.json()["name"]
        assert not set(path.name) & set("\r\n\x00/\\")
    else:
        assert not new


@pytest.mark.parametrize("name", ["a.html", "a.svg", "a.js", "a.xml", "a.xhtml", "a.pdf", "a.htm"])
def test_an_uploaded_page_runs_no_script(running: Any, name: str) -> None:
    """CVE-2024-47872."""
    evil = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert(1)</script></svg>"
    browser = Browser(running.url)
    got = browser.get(f"{FILES}/{browser.upload(name, evil)}")
    assert got.status_code == 200 and got.content == evil
    assert got.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert got.headers["content-type"] == "application/octet-stream"
    assert got.headers["content-disposition"].startswith("attachment")


RANGES = {
    "CVE-2025-62727": "bytes=" + ",".join(f"{i}-{i}" for i in range(0, 9000, 2)),
    "overlapping": "bytes=" + ",".join(["0-"] * 3000),
    "suffixes": "bytes=" + ",".join(f"-{i}" for i in range(1, 2000)),
    "6.31.0-endless": "bytes=5-2",
    "huge": f"bytes={10**30}-",
    "nonsense": "bytes=a-b,-,--1",
}


@pytest.mark.parametrize("asked", RANGES.values(), ids=RANGES)
def test_many_ranges_are_answered_quickly(running: Any, asked: str) -> None:
    browser = Browser(running.url)
    file = browser.upload("a.txt", b"x" * 100_000)
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    begun = time.monotonic()
    status, content, _ = raw(running, "GET", f"{FILES}/{file}", range=asked, cookie=cookie)
    assert status in (200, 206, 400, 416) and time.monotonic() - begun < 3 and len(content) < 2_000_000


def kept(running: Any, sent: bytes, before: set[Path]) -> list[Path]:
    """Files that did not exist *before* and begin like *sent*, or are empty. Answers to earlier requests may still be
    written next to them."""
    files = (file for file in running.settings.uploads_dir.rglob("*") if file not in before and file.is_file())
    return [file for file in files if sent.startswith(file.open("rb").read(50))]


@pytest.mark.parametrize(("more", "status"), [(30_000, 200), (70_000, 413)])
def test_the_limit_is_reported_wherever_an_upload_exceeds_it(running: Any, more: int, status: int) -> None:
    files = [("file", ("a.txt", b" " * (running.settings.upload_mb * 2**20 + more)))]
    answer = httpx.post(f"{running.url}{FILES}", files=files, timeout=60)
    assert answer.status_code == status and (status == 200 or "limit is 25 MB" in answer.text)


def test_101_megabytes_are_rejected(running: Any) -> None:
    form = {"content-type": "multipart/form-data; boundary=x"}
    before = set(running.settings.uploads_dir.rglob("*"))

    def megabytes() -> Iterator[bytes]:
        yield b'--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
        for _ in range(101):
            yield b" " * 1_000_000

    answer = httpx.post(f"{running.url}{FILES}", content=megabytes(), headers=form, timeout=60)
    assert answer.status_code == 413 and "25 MB" in answer.text
    assert raw(running, "POST", FILES, b"x" * 101_000_000, **form)[0] == 413
    for path in (VIEW, PREVIEW, "/api/v1/runs/a/try"):
        assert httpx.post(f"{running.url}{path}", content=b" " * 3_000_000, timeout=60).status_code == 413
    assert not kept(running, b" " * 50, before), "nothing of it stays on the disk"


def test_a_thousand_files_are_rejected(running: Any) -> None:
    before = set(running.settings.uploads_dir.rglob("*"))
    files = [("file", (f"{i}.txt", b"x" * 100)) for i in range(1000)]
    answer = httpx.post(f"{running.url}{FILES}", files=files, timeout=60)
    assert answer.status_code == 413 and "More than 8 files" in answer.text
    assert not kept(running, b"x" * 100, before)


def test_no_request_breaks_a_line_of_the_log(running: Any, written: io.StringIO) -> None:
    """Newlines and escape signs in paths, headers and names."""
    evil = '\n{"level": "forged"}\x1b[31m\u2028'
    quoted = quote(evil)
    for path in (
        f"/{quoted}",
        f"/assets/{quoted}",
        f"{FILE}/tmp/{quoted}",
        f"/?text={quoted}",
        f"/monitoring/{quoted}",
    ):
        raw(running, "GET", path, user_agent="\x1b[31m a", referer=f"http://a/{quoted}", host=f"a{quoted}.example")
        raw(running, "GET", path, cookie=f"a={quoted}")
    browser = Browser(running.url)
    browser.post(FILES, files={"file": (f"{evil}.csv", b"x")})
    browser.get(f"{FILES}/{quoted}")
    browser.post("/api/v1/runs/x/rename", json={"name": evil})
    browser.post(f"/api/v1/runs/{quoted}/rename", json={"name": evil})
    for target in (
        state(evil),
        state(view=evil),
        state(checkpoint=evil),
        state(**{evil: "x"}),
        {"link": f"?{evil}=1"},
    ):
        browser.post(VIEW, json=target)
    browser.post(f"{VIEW}/{quoted}", json=state())
    for given in ({"task": evil}, {"checkpoint": evil}, {"file": evil}, {"mapping": {evil: evil}}, {evil: evil}):
        browser.preview(**given)
    message = written.getvalue()
    assert message.count("\n") == len(lines(written)) > 10 and "\x1b" not in message and message.isascii()
    assert not [line for line in lines(written) if line["level"] == "forged"]


def test_files_of_a_run_can_still_be_downloaded(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_zip(detail: Any, folder: Path, owner: str, *, with_rows: bool = False) -> Path:
        file = uploads.new_file(folder, "run.zip", owner)
        file.write_bytes(b"PK")
        return file

    monkeypatch.setattr(export, "write_zip", write_zip)
    monkeypatch.setattr(running.service, "detail", lambda id, owner: None)
    owner, thief = Browser(running.url), Browser(running.url)
    run = running.service.jobs.accept(owner.owner, "given out", {"kind": "finetuning", "task": "classification"})
    running.service.jobs.stop(run.id, owner.owner)
    file = owner.post(f"/api/v1/runs/{run.id}/export", json={"kind": "zip"}).json()
    assert file["name"] == "run.zip" and owner.get(f"{FILES}/{file['file']}").content == b"PK"
    assert thief.get(f"{FILES}/{file['file']}").status_code == 404, "to nobody else"
    assert thief.post(f"/api/v1/runs/{run.id}/export", json={"kind": "zip"}).status_code == 404
    running.service.jobs.delete(run.id, None)
