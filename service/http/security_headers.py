"""Headers of every reply: a browser may do nothing with data but show it to the page that asked."""

Header = tuple[bytes, bytes]

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
VIEW_POLICY = f"{PAGE_POLICY}; require-trusted-types-for 'script'; trusted-types 'none'"
DEFAULTS: dict[bytes, bytes] = {
    b"cache-control": b"no-store",
    b"content-security-policy": b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"referrer-policy": b"no-referrer",
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
}
FOREVER = b"public, max-age=31536000, immutable"  # the only reply that may be kept: a file of a pinned version, without data


def add_protective_headers(headers: list[Header]) -> list[Header]:
    """Headers of a reply, with those that it lacks. Its rule about copies counts only for files that never change."""
    kept = [(name, value) for name, value in headers if name.lower() != b"cache-control" or value == FOREVER]
    given = {name.lower() for name, _ in kept}
    return [*kept, *(header for header in DEFAULTS.items() if header[0] not in given)]
