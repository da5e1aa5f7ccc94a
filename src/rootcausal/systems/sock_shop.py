"""Sock Shop: a web shop of services, into one of which a fault was injected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import numpy as np

from .files import files_in, numbers_of, stem_of, table_at, varying
from .trial import Trial

TIME = "time"


class SockShop:
    """Incidents: the rows of a period after a fault, and of the period before it."""

    name: ClassVar[str] = "sock-shop"
    about: ClassVar[str] = (
        "Sock Shop with CPU and memory faults in one of five services (azamikram/rcd): some 40 metrics a "
        "second, about 290 seconds before the fault as the reference and as many after it as one incident; "
        "the service is to be named."
    )

    def trials(self, folder: Path, seed: int) -> Iterator[Trial]:
        for path in files_in(folder, "*-normal.csv*", "*-normal.csv"):
            fault = stem_of(path).removesuffix("-normal")
            service, kind, _ = fault.rsplit("-", 2)
            other = path.with_name(path.name.replace("-normal", "-anomalous"))
            before, after = table_at(path), table_at(other)
            columns = tuple(name for name in before if name != TIME and name in after)
            reference = numbers_of(before, columns, path)
            rows = numbers_of(after, columns, other)
            moving = varying(reference)
            columns = tuple(np.array(columns)[moving].tolist())
            yield incident(columns, reference[:, moving], rows[:, moving], service, f"{service} {kind}")


def incident(
    columns: tuple[str, ...], reference: np.ndarray, rows: np.ndarray, node: str, fault: str
) -> Trial:
    """One incident in a system of services; the rows of the incident may be learned from."""
    return Trial(
        columns=columns,
        reference=reference,
        rows=rows,
        unit=np.zeros(len(rows), dtype=np.intp),
        answers=(frozenset([node]),),
        faults=(fault,),
        nodes=tuple(map(service_of, columns)),
        cases=rows,
        fresh=reference[:0],
    )


def service_of(column: str) -> str:
    """The service that a metric is of: ``carts_cpu``, ``carts_lat_50``."""
    return column.rsplit("_", 1)[0].removesuffix("_lat")
