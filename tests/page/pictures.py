"""Pictures of every view, light and dark, wide and narrow, to be looked at: `python -m tests.page.pictures ADDRESS FOLDER [NAMESPACE …]`."""

import sys
from pathlib import Path

import httpx

from tests.page.browser import Browser, WentWrong, build_page, running_browser

SIZES = {"wide": ("light", 1280), "narrow": ("dark", 390), "wide-dark": ("dark", 1280), "narrow-light": ("light", 390)}
VIEWS = {
    "home": ("/", ".tries, .empty"),
    "ask": ("/ask?q={question}", ".results, .empty"),
    "sides": ("/ask?q={question}&b=side&b_as_of=2023-07-01T00:00:00Z", ".sides, .empty"),
    "memories": ("/memory", ".memories li, .empty"),
    "memory": ("/memory?id={memory}", ".belief, .empty"),
    "constellation": ("/constellation?most=500", ".stars canvas, .empty"),
    "focus": ("/constellation?focus={entity}", ".about, .empty"),
    "map": ("/map?by=cluster", ".cloud canvas, .empty"),
    "space": ("/map?dims=3", ".cloud canvas, .empty"),
    "tree": ("/tree", ".branches li, .empty"),
    "desk": ("/desk?q={question}&chars=1200", ".desk .lines, .empty"),
    "changes": ("/changes", ".operations li, .empty"),
    "jobs": ("/changes?part=jobs", ".jobs > li, .empty"),
    "dreams": ("/changes?part=dreams", ".passes > li, .empty"),
    "supersessions": ("/changes?part=supersessions", ".pairs > li, .empty"),
    "unsettled": ("/changes?part=unsettled", ".pairs > li, .empty"),
    "vectors": ("/changes?part=vectors", "table, .empty"),
}


def say(text: str) -> None:
    """Tell whoever runs it."""
    sys.stderr.write(f"{text}\n")


def things(address: str, namespace: str) -> dict[str, str]:
    """What the addresses of a namespace's views need: a memory, an entity, a question."""
    with httpx.Client(base_url=f"{address}/api/v1", headers={"X-Namespace": namespace}, timeout=120) as client:
        memories = client.get("/memories", params={"limit": 1}).json()["items"]
        stars = client.get("/knowledge/constellation", params={"limit": 1}).json()["entities"]
    words = memories[0]["content"][:60] if memories else "Who?"
    question = "What does Alice drink?" if namespace == "default" else words
    return {
        "question": str(httpx.QueryParams({"q": question}))[2:],
        "memory": "coffee" if namespace == "default" else memories[0]["id"] if memories else "",
        "entity": stars[0]["id"] if stars else "",
    }


def take(browser: Browser, address: str, namespace: str, folder: Path) -> None:
    """All views of a namespace, in all sizes."""
    known = things(address, namespace)
    for size, (theme, width) in SIZES.items():
        with browser.page(address, colorScheme=theme, viewport={"width": width, "height": 860}) as page:
            for view, (path, ready) in VIEWS.items():
                filled = path.format(**known)
                page.go(f"{filled}{'&' if '?' in filled else '?'}ns={namespace}")
                try:
                    page.do("waitFor", {"timeout": 30_000}, at=f":is({ready}) >> nth=0")
                    page.until("!document.querySelector('.loading, [aria-busy=true]')")
                except WentWrong as wrong:
                    say(f"{namespace} {view} {size}: {str(wrong).splitlines()[0]}")
                page.do("screenshot", {"path": str(folder / f"{namespace}-{view}-{size}.png"), "fullPage": True})
                if (over := page.run("document.documentElement.scrollWidth - innerWidth")) > 0:
                    say(f"{namespace} {view} {size}: {over} pixels too wide")
            for each in page.trouble():
                say(f"{namespace} {size}: {each}")


def main() -> None:
    """Take them."""
    address, folder, *namespaces = sys.argv[1:]
    build_page()
    Path(folder).mkdir(parents=True, exist_ok=True)
    with running_browser() as browser:
        for namespace in namespaces or ["default"]:
            take(browser, address, namespace, Path(folder))


if __name__ == "__main__":
    main()
