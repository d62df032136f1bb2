"""Foundation: roles, tenancy, memories, search, graph and the other tiers.

Revision ID: 0001
Revises:
"""

from alembic import op

from migrations.schema_files import in_order, run, run_queue

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create roles and schema as the connecting role, and every table as loci_owner."""
    run(op.get_bind(), "0000_roles.sql")
    op.execute("set role loci_owner")
    run_queue(op.get_bind())
    for name in in_order():
        run(op.get_bind(), name)
    op.execute("reset role")
    op.execute("grant select on public.loci_version to loci_app")


def downgrade() -> None:
    """Drop the schemas; the roles may serve other databases and stay."""
    op.execute("drop schema loci, loci_api, loci_internal, loci_data, loci_jobs, loci_migration cascade")
