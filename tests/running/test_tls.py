"""The commands of docs/running/tls.md, with certificates that they make: the service in front, the database behind."""

import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from loci import LociClient, LociError
from tests.databases import Server, data_folder
from tests.distributed.servers import free_port
from tests.running.drills import Place, block
from tests.services import eventually

pytestmark = pytest.mark.release

ASKS_FOR_TLS = bytes.fromhex("0000000804d2162f")


@pytest.fixture(scope="module")
def place(server: Server) -> Iterator[Place]:
    """A folder with the certificates of the page, and a database."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    database = server.clone("tls")
    with data_folder() as folder:
        made = Place(folder, {"DATABASE_URL": database.app_url, "LOCI_EMBEDDING__PROVIDER": "none"}, by_itself=True)
        made.sh(block("tls.md", "openssl"))
        for ending in ("crt", "key"):
            shutil.copy(folder / f"server.{ending}", folder / f"loci.{ending}")
        yield made
    server.drop(database)


@contextmanager
def encrypted(folder: Path, url: str) -> Iterator[int]:
    """A port that speaks to clients of PostgreSQL as a server with `ssl = on` does, and hands on what they say."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.crt", folder / "server.key")
    reached = conninfo_to_dict(url)

    def serve(client: socket.socket) -> None:
        with suppress(OSError), client:
            if client.recv(8) != ASKS_FOR_TLS:
                return
            client.sendall(b"S")
            inside = context.wrap_socket(client, server_side=True)
            server = socket.socket(socket.AF_UNIX if str(reached["host"]).startswith("/") else socket.AF_INET)
            server.connect(
                f"{reached['host']}/.s.PGSQL.{reached.get('port', 5432)}"
                if server.family == socket.AF_UNIX
                else (reached["host"], int(reached.get("port", 5432)))
            )
            threading.Thread(target=pump, args=(server, inside), daemon=True).start()
            pump(inside, server)

    def pump(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def listen() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=listen, daemon=True).start()
        yield listener.getsockname()[1]


def refused(url: str) -> str:
    with pytest.raises(psycopg.OperationalError) as caught:
        psycopg.connect(url, connect_timeout=30).close()
    return str(caught.value)


@pytest.mark.row("X13")
def test_the_database_is_reached_by_a_certificate_that_is_verified_and_by_no_other(place: Place) -> None:
    plain = place.environment["DATABASE_URL"]
    name = conninfo_to_dict(plain)["dbname"]
    with encrypted(place.folder, plain) as port:
        place.written = {"$PORT": str(port), "/loci?": f"/{name}?"}
        text = block("tls.md", "DATABASE_URL").replace("//loci_app@", f"//{userinfo(plain)}@")
        said = place.sh(text)
        assert "restricted" in said
        authority = f"sslmode=verify-full&sslrootcert={place.folder}/ca.crt"
        assert "does not match" in refused(f"postgresql://{userinfo(plain)}@127.0.0.1:{port}/{name}?{authority}")
        other = f"sslmode=verify-full&sslrootcert={place.folder}/other.crt"
        place.sh('openssl req -x509 -newkey rsa:2048 -nodes -subj "/CN=Other" -keyout other.key -out other.crt')
        assert "certificate verify failed" in refused(f"postgresql://{userinfo(plain)}@localhost:{port}/{name}?{other}")


def userinfo(url: str) -> str:
    """Name and password of a login, as an address has them."""
    parts = conninfo_to_dict(url)
    return f"{parts['user']}:{parts['password']}" if parts.get("password") else str(parts["user"])


def test_uvicorn_serves_with_a_certificate_that_is_believed_where_its_authority_is_named_and_nowhere_else(place: Place) -> None:
    port = free_port()
    place.written = {"8443": str(port), "uvicorn --factory": f"exec {Path(sys.executable).parent}/uvicorn --factory"}
    command = place.here(block("tls.md", "uvicorn"))
    process = subprocess.Popen(["bash", "-euc", command], env=place.environment, cwd=place.folder, stderr=subprocess.PIPE)
    try:
        trusted = ssl.create_default_context(cafile=str(place.folder / "ca.crt"))

        def ready() -> bool:
            assert process.poll() is None, process.stderr
            with suppress(httpx.TransportError):
                return httpx.get(f"https://localhost:{port}/readyz", verify=trusted).status_code == 200
            return False

        eventually(ready)
        assert "default" in place.sh(block("tls.md", "SSL_CERT_FILE"))
        for stranger in (f"https://localhost:{port}", f"HTTPS://localhost:{port}"):
            with LociClient(stranger, retries=0) as client, pytest.raises(LociError, match="certificate verify failed"):
                list(client.namespaces.list())
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
