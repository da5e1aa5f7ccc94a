"""Writes a SAS transport file (version 5), which pandas reads and does not write."""

import struct


def transport_file(columns: dict[str, list[float | str]]) -> bytes:
    fields = []
    for place, (name, cells) in enumerate(columns.items()):
        kind, width = (2, 8) if isinstance(cells[0], str) else (1, 8)
        fields.append(
            struct.pack(">hhhh8s40s8shhh2s8shhl52s", kind, 0, width, place + 1, name.ljust(8).encode(),
                        b" " * 40, b" " * 8, 0, 0, 0, b"  ", b" " * 8, 0, 0, 8 * place, b" " * 52)
        )  # fmt: skip
    rows = b"".join(_cell(cell) for row in zip(*columns.values(), strict=True) for cell in row)
    stamp = "01JAN20:00:00:00"
    return b"".join(
        [
            _header("LIBRARY HEADER RECORD!!!!!!!" + "0" * 30),
            _line("SAS     SAS     SASLIB  9.4     X64     ".ljust(64) + stamp),
            _line(stamp),
            _header("MEMBER  HEADER RECORD!!!!!!!" + "000000000000000001600000000140"),
            _header("DSCRPTR HEADER RECORD!!!!!!!" + "0" * 30),
            _line("SAS     COHORT  SASDATA 9.4     X64     ".ljust(64) + stamp),
            _line(stamp),
            _header(f"NAMESTR HEADER RECORD!!!!!!!000000{len(columns):04d}" + "0" * 20),
            _padded(b"".join(fields)),
            _header("OBS     HEADER RECORD!!!!!!!" + "0" * 30),
            _padded(rows),
        ]
    )


def _header(text: str) -> bytes:
    return _line("HEADER RECORD*******" + text)


def _line(text: str) -> bytes:
    return text.ljust(80).encode()


def _padded(content: bytes) -> bytes:
    return content + b" " * (-len(content) % 80)


def _cell(cell: float | str) -> bytes:
    if isinstance(cell, str):
        return cell.ljust(8).encode("cp1252")
    if cell == 0:
        return b"\0" * 8
    # IBM's floating point: a base of 16, and a fraction below 1.
    exponent, fraction = 64, abs(cell)
    while fraction >= 1:
        exponent, fraction = exponent + 1, fraction / 16
    while fraction < 1 / 16:
        exponent, fraction = exponent - 1, fraction * 16
    return struct.pack(">Q", (cell < 0) << 63 | exponent << 56 | int(fraction * 2**56))
