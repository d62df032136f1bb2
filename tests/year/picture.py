"""The months as a picture: sizes of tables, and how long calls took."""

from collections.abc import Sequence
from html import escape

from tests.year.months import Month

WIDE, HIGH, LEFT, GAP = 760, 220, 70, 60
COLOURS = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2", "#97bbf5", "#9c6b4e")
STYLE = "<style>text{font:12px system-ui,sans-serif;fill:#57606a}.title{font-weight:600}line{stroke:#d0d7de}polyline{fill:none;stroke-width:2}</style>"


def panel(top: int, title: str, lines: dict[str, list[float]]) -> list[str]:
    """Lines over the months, from nought."""
    most = max((max(values) for values in lines.values() if values), default=1.0) or 1.0
    made = [f'<text class="title" x="{LEFT}" y="{top - 10}">{escape(title)}</text>']
    for part in (0.0, 0.5, 1.0):
        y = top + HIGH - HIGH * part
        made.append(
            f'<line x1="{LEFT}" x2="{LEFT + WIDE}" y1="{y:.0f}" y2="{y:.0f}"/><text x="{LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{most * part:,.0f}</text>'
        )
    for nth, (name, values) in enumerate(lines.items()):
        colour, step = COLOURS[nth % len(COLOURS)], WIDE / max(len(values) - 1, 1)
        points = " ".join(f"{LEFT + step * n:.1f},{top + HIGH - HIGH * value / most:.1f}" for n, value in enumerate(values))
        made.append(f'<polyline points="{points}" stroke="{colour}"/>')
        y = top + 12 + nth * 18
        made.append(
            f'<line x1="{LEFT + WIDE + 14}" x2="{LEFT + WIDE + 34}" y1="{y}" y2="{y}" style="stroke:{colour};stroke-width:3"/>'
        )
        made.append(f'<text x="{LEFT + WIDE + 40}" y="{y + 4}">{escape(name)}</text>')
    return made


def picture(months: Sequence[Month]) -> str:
    """An SVG document."""
    last = months[-1]
    largest = sorted(last.tables, key=lambda name: -last.tables[name])[:6]
    panels = [
        (
            "kB of a table for each memory, by month",
            {name: [m.tables.get(name, 0) / m.memories / 1024 for m in months] for name in largest},
        ),
        ("p50 of a call, ms, by month", {verb: [m.p50.get(verb, 0) * 1000 for m in months] for verb in sorted(last.p50)}),
        ("memories, by month", {"memories": [float(m.memories) for m in months]}),
    ]
    drawn: list[str] = []
    for nth, (title, lines) in enumerate(panels):
        drawn += panel(40 + nth * (HIGH + GAP), title, lines)
    whole = f"0 0 {LEFT + WIDE + 190} {40 + len(panels) * (HIGH + GAP)}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{whole}" role="img" aria-label="A year by month">{STYLE}{"".join(drawn)}</svg>\n'
