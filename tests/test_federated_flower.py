"""Flower between hospitals: TLS on the loopback, a process for each site, and the answer of one place."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hospitals import NAMES, cohort, pooled, split

from rootcausal import RCI

COLUMNS = ["age", "crp", "creatinine", "sofa"]
TABLE = cohort()[[*COLUMNS, "died"]]
QUIET = {"FLWR_TELEMETRY_ENABLED": "0", "FLWR_DISABLE_UPDATE_CHECK": "1"}
without_flower = pytest.importorskip("flwr", reason="needs Flower: pip install 'rootcausal[flower]'")


def certificates(folder: Path) -> None:
    """ca.crt, and of 127.0.0.1 server.pem and server.key, vouched for by it."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def name(text: str) -> Any:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    now = datetime.datetime.now(datetime.UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]

    def signed(subject: str, key: Any, is_ca: bool) -> bytes:
        built = (
            x509.CertificateBuilder()
            .subject_name(name(subject))
            .issuer_name(name("a study"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
            .add_extension(
                x509.SubjectAlternativeName(
                    [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
                ),
                critical=False,
            )
        )
        return built.sign(keys[0], hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    (folder / "ca.crt").write_bytes(signed("a study", keys[0], True))
    (folder / "server.pem").write_bytes(signed("localhost", keys[1], False))
    (folder / "server.key").write_bytes(
        keys[1].private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
    )
