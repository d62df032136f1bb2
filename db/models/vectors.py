"""A matrix as PostgreSQL reads an array of vectors: one value, where pgvector's adapter makes an object of each row."""

import struct
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from psycopg import AsyncConnection
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types import TypeInfo

HEAD = struct.Struct("!iiIii")  # of an array: how many dimensions it has, nulls, type of its elements, their number, first index


@dataclass(frozen=True, eq=False)
class VectorRows:
    """Vectors, shape (vectors, dimensions), that are sent as vector[]."""

    rows: NDArray[np.float32]


class VectorRowsDumper(Dumper):
    """Writes the binary form of vector[]."""

    format = Format.BINARY
    element = 0  # number of the type vector

    def dump(self, obj: VectorRows) -> bytes:
        """Each vector: its bytes, its dimensions, two unused ones, and its values."""
        count, dimensions = obj.rows.shape
        row = np.dtype([("bytes", ">i4"), ("dimensions", ">i2"), ("unused", ">i2"), ("values", ">f4", (dimensions,))])
        made = np.zeros(count, dtype=row)
        made["bytes"], made["dimensions"], made["values"] = row.itemsize - 4, dimensions, obj.rows
        return HEAD.pack(1, 0, self.element, count, 1) + made.tobytes()


def register_vector_rows(connection: AsyncConnection[object], info: TypeInfo) -> None:
    """Have a connection send VectorRows."""
    dumper = type("VectorRowsDumper", (VectorRowsDumper,), {"oid": info.array_oid, "element": info.oid})
    connection.adapters.register_dumper(VectorRows, dumper)
