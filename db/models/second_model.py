"""The second embedding model: wrappers of SQL functions. All are the operator's."""

from collections.abc import Mapping

from db.pool import Transaction


async def prepare(tx: Transaction, *, model: Mapping[str, object], replace: bool) -> int | None:
    """Make a model (name, dimensions, asks) ready to be the second; its number, None where it cannot be."""
    return await tx.optional(
        int,
        "select loci_api.prepare_second_model(%(name)s, %(dimensions)s, %(asks)s, %(replace)s) as id",
        **model,
        replace=replace,
    )


async def begin(tx: Transaction, *, model: int, replace: bool) -> bool:
    """Make a model that is ready the second one; False where another one stays it."""
    return await tx.value(
        bool, "select loci_api.begin_second_model(%(model)s::smallint, %(replace)s) as begun", model=model, replace=replace
    )


async def retire(tx: Transaction) -> str | None:
    """Ask the second model no more; its name."""
    return await tx.optional(str, "select loci_api.retire_second_model() as name")
