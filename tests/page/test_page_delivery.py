"""How the page is delivered: small, kept rightly, under a strict policy, under any prefix; and what is said where it is not built."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import httpx
import pytest
from hatchling.builders.wheel import WheelBuilder

from service.http import page as served
from service.http.security_headers import FOREVER
from tests.catalogue import ROOT
from tests.page.browser import BUILD, Browser, client_of
from tests.services import PATIENCE, Service, ok, problem, serve

BUDGET = 100_000  # bytes of the first view, compressed
PREFIX = "/team/loci"


@pytest.fixture
def site(demo: Service) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=demo.url, timeout=60, verify=False) as client:  # certificates take 40 ms to read
        yield client


def loaded(document: str) -> list[str]:
    return [link for link in re.findall(r'(?:src|href)="([^"]+)"', document) if link != "data:,"]


@pytest.mark.row("X7")
@pytest.mark.parametrize("encoding", ["gzip", "br"])
def test_the_first_view_is_small(site: httpx.Client, encoding: str) -> None:
    sizes = []
    document = site.get("/")
    for link in ["/", *loaded(document.text)]:
        with site.stream("GET", link, headers={"Accept-Encoding": encoding}) as reply:
            sizes.append(len(b"".join(reply.iter_raw())))
            assert link == "/" or reply.headers["content-encoding"] == encoding
    assert len(sizes) >= 3
    assert sum(sizes) <= BUDGET


def test_the_document_is_asked_for_again_and_its_files_never(site: httpx.Client) -> None:
    for path in sorted(served.VIEWS):
        reply = site.get(path)
        assert (reply.status_code, reply.headers["content-type"], reply.headers["cache-control"]) == (
            200,
            "text/html; charset=utf-8",
            "no-store",
        )
    for link in loaded(reply.text):
        found = site.get(link)
        assert (found.status_code, found.headers["cache-control"], found.headers["vary"]) == (
            200,
            FOREVER.decode(),
            "Accept-Encoding",
        )
        assert found.headers["x-content-type-options"] == "nosniff"
        plain = site.get(link, headers={"Accept-Encoding": "identity"})
        assert ("content-encoding" in plain.headers, plain.content) == (False, found.content)


def test_a_head_request_for_a_view_or_a_file_is_answered(site: httpx.Client) -> None:
    for path in [*sorted(served.VIEWS), *loaded(site.get("/").text)]:
        whole, head = site.get(path), site.head(path)
        assert (head.status_code, head.content) == (200, b"")
        for name in ("content-type", "content-security-policy", "cache-control"):
            assert head.headers[name] == whole.headers[name]


def test_its_policy_allows_nothing_but_its_own_files(site: httpx.Client) -> None:
    policy = {words[0]: words[1:] for words in map(str.split, site.get("/").headers["content-security-policy"].split(";"))}
    assert policy == {
        "default-src": ["'none'"], "script-src": ["'self'"], "style-src": ["'self'"], "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"], "base-uri": ["'none'"], "form-action": ["'none'"], "frame-ancestors": ["'none'"],
        "require-trusted-types-for": ["'script'"], "trusted-types": ["'none'"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["..%2f__init__.py", ".built", "index.html", "nothing-abcdefgh.js", "LICENCES.txt", "index-12345678.js.gz"]
)
def test_no_other_file_is_served(site: httpx.Client, name: str) -> None:
    problem(site.get(f"/assets/{name}"), 404, "not-found")


def test_a_service_without_a_built_page_says_how_to_build_it(
    site: httpx.Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(served, "BUILT", tmp_path)
    reply = site.get("/")
    assert (reply.status_code, reply.headers["content-type"]) == (404, "text/plain; charset=utf-8")
    assert "run `make page`" in reply.text


def test_its_packages_are_named_with_their_digests_and_from_no_host() -> None:
    lock = (ROOT / "web" / "package-lock.json").read_text()
    assert "resolved" not in lock
    assert lock.count('"integrity": "sha512-') == lock.count('    "node_modules/')
    assert "omit-lockfile-registry-resolved=true" in (ROOT / "web" / ".npmrc").read_text()


def test_it_is_built_again_where_a_source_changed_and_not_where_the_client_was_packed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker of the same run may serve what is built."""
    loader = SourceFileLoader("builder", str(BUILD))
    builder = ModuleType(loader.name)
    builder.__file__ = loader.path
    loader.exec_module(builder)
    monkeypatch.setattr(builder, "WEB", tmp_path)
    source, made, types = (tmp_path / "packages" / "client" / name for name in ("src/calls.ts", "dist/calls.js", "src/schema.d.ts"))
    for each in (source, made):
        each.parent.mkdir(parents=True)
    source.write_text("1")
    before = builder.digest("packages")
    made.write_text("1")
    types.write_text("1")
    assert builder.digest("packages") == before
    source.write_text("2")
    assert builder.digest("packages") != before


def test_the_wheel_of_the_server_holds_it_and_needs_no_node(built: None) -> None:
    builder = WheelBuilder(str(ROOT))
    packed = {each.distribution_path for each in builder.recurse_included_files()}
    names = {name for name in packed if name.startswith("service/http/page/built/")}
    assert {name.rpartition("/")[2] for name in names} >= {"index.html", "LICENCES.txt"}
    assert sum(name.endswith(".js.br") for name in names) >= 5
    assert "nodejs" not in "".join(builder.metadata.core.dependencies)


@contextmanager
def proxied(url: str) -> Iterator[str]:
    """A proxy that shows a service under a prefix, which it takes away; the service knows nothing of it."""

    class Proxy(BaseHTTPRequestHandler):
        def forward(self) -> None:
            if not self.path.startswith(f"{PREFIX}/"):
                self.send_error(404)
                return
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name: value for name, value in self.headers.items() if name.lower() not in {"accept-encoding", "host"}}
            path = self.path.removeprefix(PREFIX)
            reply = client.request(self.command, path, headers={**headers, "Host": "localhost"}, content=body)
            self.send_response(reply.status_code)
            for name, value in reply.headers.multi_items():
                if name not in {"content-length", "content-encoding", "transfer-encoding", "connection"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.content)))
            self.end_headers()
            self.wfile.write(reply.content)

        do_GET = do_POST = do_PATCH = do_DELETE = forward  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    with httpx.Client(base_url=url, verify=False, timeout=PATIENCE) as client:
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}{PREFIX}"
        finally:
            server.shutdown()
            thread.join()


def test_a_key_opens_the_page_under_a_prefix_and_is_kept_nowhere(browser: Browser, demo: Service) -> None:
    with client_of(demo.url) as operator:
        key = ok(operator.post("/keys", json={"name": "reader", "role": "reader"}), 201)
        with (
            serve(demo.database, tcp=True, worker=False, require_keys=True) as keyed,
            proxied(keyed.url) as address,
            browser.page(address) as page,
        ):
            page.go("/memory?id=coffee")
            page.fill("input[name=key]", "loci_wrong")
            page.press("Enter", at="input[name=key]")
            assert "unknown, expired or revoked" in page.see(".trouble")
            page.fill("input[name=key]", key["key"])
            page.press("Enter", at="input[name=key]")
            page.see(".belief")
            assert page.count(".acts, .operation button.small") == 0  # a reader is offered nothing that would be refused
            (cookie,) = browser.ask(own="cookies", page=page.name)
            assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", f"{PREFIX}/api/v1")
            assert (
                page.run("JSON.stringify([document.cookie, {...localStorage}, {...sessionStorage}, location.href])").count(
                    key["key"]
                )
                == 0
            )
            page.click("nav >> text=Home")
            page.see(".figures dd")
            assert key["key"] not in page.run("document.documentElement.outerHTML")
            assert "$LOCI_KEY" in page.see(".lines")
            assert operator.delete(f"/keys/{key['id']}").status_code == 204
            # What it looks at may have found that out before: then nothing below the sign-in takes a click of the mouse.
            page.run("[...document.querySelectorAll('nav a')].find((each) => each.textContent.includes('Changes')).click()")
            assert "The session has ended" in page.see(".signin")
            assert [each for each in page.trouble() if "401" not in each] == []  # the browser itself notes each refusal
