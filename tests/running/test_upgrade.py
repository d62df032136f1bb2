"""What docs/running/upgrade.md says of two versions beside each other."""

from collections.abc import Iterator

import pytest

from db.migrate import newest_revision
from tests.databases import Database, Server, data_folder
from tests.running.drills import Place, blocks
from tests.services import new_api, serve


@pytest.fixture
def cloned(server: Server) -> Iterator[Database]:
    made = server.clone("upgraded")
    yield made
    server.drop(made)


@pytest.mark.release
def test_the_commands_of_the_page_run_while_the_service_serves(cloned: Database) -> None:
    commands = dict.fromkeys("".join(blocks("upgrade.md")).splitlines())  # one stands there twice
    with serve(cloned) as service, new_api(service) as api, data_folder() as folder:
        addresses = {"LOCI_MIGRATION_URL": cloned.admin_url, "DATABASE_URL": cloned.app_url, "LOCI_EMBEDDING__PROVIDER": "none"}
        api.write("Alice moved to Oslo")
        Place(folder, addresses).sh("\n".join(commands))
        assert api.found("Alice") == ["Alice moved to Oslo"]


@pytest.mark.row("X13")
def test_a_service_whose_schema_is_gone_is_not_ready_until_it_is_back(cloned: Database) -> None:
    with serve(cloned) as service, service.client() as client, cloned.admin() as owner:
        owner.execute("update public.loci_version set version_num = 'later'")
        said = client.get("http://loci/readyz")
        assert said.status_code == 503
        assert "a later version has migrated it" in said.text
        owner.execute("update public.loci_version set version_num = %s", [newest_revision()])
        assert client.get("http://loci/readyz").status_code == 200
