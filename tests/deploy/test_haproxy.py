"""HAProxy takes the configuration of deploy/haproxy with the maps that `loci cell map` writes."""

import shutil
import subprocess
from pathlib import Path

import pytest

from service.cells.haproxy import write_maps
from tests.catalogue import ROOT

PROGRAM = shutil.which("haproxy", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")


@pytest.mark.skipif(PROGRAM is None, reason="haproxy is not installed")
@pytest.mark.parametrize("url", ["http://127.0.0.1:8421", "https://cell2.example"])
def test_the_configuration_is_taken(tmp_path: Path, url: str) -> None:
    maps = {"namespaces.map": [("team", "cell_1")], "keys.map": [("AB12", "cell_1")], "cells.cfg": [("1", url)]}
    write_maps(tmp_path, maps)
    text = (ROOT / "deploy" / "haproxy" / "haproxy.cfg").read_text()
    placed = text.replace("/etc/haproxy/cells", str(tmp_path)).replace("/run/haproxy", str(tmp_path))
    (tmp_path / "haproxy.cfg").write_text(placed)
    command = [str(PROGRAM), "-c", "-f", str(tmp_path / "haproxy.cfg"), "-f", str(tmp_path / "cells.cfg")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
