"""What all endpoints share: who is trusted, and what carries the key."""

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from service.endpoints import client_for

MADE = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout key -out crt"


@pytest.mark.parametrize("scheme", ["https", "HTTPS"])
def test_an_endpoint_whose_certificate_nobody_signed_is_not_sent_the_key(tmp_path: Path, scheme: str) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    subprocess.run(MADE.split(), cwd=tmp_path, check=True, capture_output=True)
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    heard: list[bytes] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(1))
        writer.close()

    async def ask() -> None:
        async with await asyncio.start_server(hear, "localhost", 0, ssl=own) as server:
            url = f"{scheme}://localhost:{server.sockets[0].getsockname()[1]}/v1"
            async with client_for(url, "a key", "LOCI_LLM__API_KEY", timeout=60.0) as client:
                await client.get(url)

    with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
        asyncio.run(ask())
    assert heard == []


def test_a_key_that_no_header_can_carry_is_refused_and_not_quoted() -> None:
    with pytest.raises(RuntimeError, match="LOCI_LLM__API_KEY holds something else"):
        client_for("http://localhost", "ключ", "LOCI_LLM__API_KEY", timeout=1.0)
