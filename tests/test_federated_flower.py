"""Flower between hospitals: TLS on the loopback, a process for each site, and the answer of one place."""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import error
from hospitals import NAMES, cohort, joint, pooled, sites_of, split

from rootcausal import RCI
from rootcausal.federated import FolderTransport, fit, serve_folder

pytest.importorskip("flwr", reason="needs Flower: pip install 'rootcausal[flower]'")

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

from rootcausal.federated.flower import QUIET
from rootcausal.federated.flower_apps import RECORD, Carrier, client_app, delivered

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
TABLE = cohort()[["age", "crp", "creatinine", "sofa", "died"]]
GUIDE = Path(__file__).parent.parent / "docs" / "sites.md"


@pytest.fixture(autouse=True)
def in_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages of Flower are made by its tasks only, which say so when they begin."""
    for name in ("task_id", "run_id", "node_id"):
        monkeypatch.setattr(TaskIdentity, f"_{name}", 1)


class Federation(Grid):
    """Nodes that are threads: each runs the app that Flower would start a process for."""

    def __init__(self) -> None:
        self.nodes: dict[int, Context] = {}
        self.sent: list[RecordDict] = []
        self._replies: dict[str, Message] = {}

    def join(self, site: str, folder: Path) -> int:
        number = max(self.nodes, default=0) + 1
        about = {"site": site, "folder": str(folder)}
        self.nodes[number] = Context(
            run_id=1, node_id=number, node_config=about, state=RecordDict(), run_config={}
        )
        return number

    def get_node_ids(self) -> list[int]:
        return list(self.nodes)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        names = []
        for message in messages:
            names.append(f"message {len(self.sent)}")
            self.sent.append(message.content)
            threading.Thread(target=self._work, args=(names[-1], message), daemon=True).start()
        return names

    def _work(self, name: str, message: Message) -> None:
        reply = client_app(message, self.nodes[message.metadata.dst_node_id])
        reply.metadata.__dict__["_reply_to_message_id"] = name
        self._replies[name] = reply

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        return [self._replies.pop(name) for name in message_ids if name in self._replies]

    def set_run(self, run: Any) -> None:
        raise NotImplementedError

    run = create_message = send_and_receive = set_run  # type: ignore[assignment]


class Stopped(Exception):
    """Somebody pulled the plug."""


def carrying(federation: Federation, folder: Path) -> threading.Thread:
    """Carry in a thread, as the ServerApp does, until the session is over."""
    carrier = Carrier(federation, folder)

    def run() -> None:
        while not carrier.look():
            time.sleep(0.005)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_a_site_that_is_started_anew_under_another_number_goes_on(tmp_path: Path) -> None:
    """Its folder is empty then: it is brought all that was asked before."""
    federation, here = Federation(), tmp_path / "joint"
    here.mkdir()
    numbers = {name: federation.join(name, tmp_path / name) for name in NAMES}

    def serve(name: str, folder: Path, stop: int | None) -> None:
        (site,) = [one for one in sites_of(TABLE) if one.name == name]

        def told(number: int) -> None:
            if number == stop:
                raise Stopped

        folder.mkdir(exist_ok=True)
        try:
            serve_folder(site, folder, 60.0, told)
        except Stopped:
            del federation.nodes[numbers[name]]
            federation.join(name, tmp_path / f"{name} anew")
            serve(name, tmp_path / f"{name} anew", None)

    threads = [
        threading.Thread(
            target=serve, args=(name, tmp_path / name, 7 if name == "east" else None), daemon=True
        )
        for name in NAMES
    ]
    for thread in threads:
        thread.start()
    threads.append(carrying(federation, here))
    model = fit(RCI(), FolderTransport(here, 60.0), list(NAMES))
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    reference, X = joint(RCI(), sites_of(TABLE)), pooled(RCI(), TABLE)[1]
    np.testing.assert_array_equal(model.shapley_values(X), reference.shapley_values(X))
    assert model.provenance_["sites"]["rounds"] == reference.provenance_["sites"]["rounds"]
    for name in ("north", "east anew"):
        at_site = RCI.load(tmp_path / name / "model.rci")
        np.testing.assert_array_equal(at_site.shapley_values(X), model.shapley_values(X))
    # Of all other sites each request is sent once.
    asked = sum(len(one[RECORD].get("requests", ())) for one in federation.sent)
    assert asked == model.provenance_["sites"]["rounds"] * len(NAMES) + 7


def test_a_coordinator_that_is_started_anew_goes_on(tmp_path: Path) -> None:
    class Plug(FolderTransport):
        def ask(self, number: int, request: bytes, names: Any, accept: Any) -> dict[str, bytes]:
            if number == 9:
                raise Stopped
            return super().ask(number, request, names, accept)

    federation, here = Federation(), tmp_path / "joint"
    here.mkdir()
    threads = []
    for site in sites_of(TABLE):
        (folder := tmp_path / site.name).mkdir()
        federation.join(site.name, folder)
        threads.append(threading.Thread(target=serve_folder, args=(site, folder, 60.0), daemon=True))
        threads[-1].start()
    first = Carrier(federation, here)
    over = threading.Event()

    def carry_until_it_is_over() -> None:
        while not over.is_set():
            first.look()
            time.sleep(0.005)

    threads.append(threading.Thread(target=carry_until_it_is_over, daemon=True))
    threads[-1].start()
    with pytest.raises(Stopped):
        fit(RCI(), Plug(here, 60.0), list(NAMES))
    over.set()
    threads.append(carrying(federation, here))
    model = fit(RCI(), FolderTransport(here, 60.0), list(NAMES))
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    reference, X = joint(RCI(), sites_of(TABLE)), pooled(RCI(), TABLE)[1]
    np.testing.assert_array_equal(model.shapley_values(X), reference.shapley_values(X))
    assert len([one for one in here.iterdir() if one.is_dir()]) == 1


@pytest.mark.parametrize("session", ["../elsewhere", "", "/tmp", "0" * 31])
def test_what_is_brought_stays_in_the_folder_of_the_site(tmp_path: Path, session: str) -> None:
    with pytest.raises(ValueError, match="no session"):
        delivered(tmp_path, "north", {"session": session, "first": 1, "requests": [b""]})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("named", ["../../x", "x", "", "."])
def test_a_node_answers_only_by_the_name_of_a_site(tmp_path: Path, named: str) -> None:
    class Impostor(Federation):
        def _work(self, name: str, message: Message) -> None:
            told = ConfigRecord({"site": named, "number": 1, "answer": b"nonsense"})
            self._replies[name] = Message(RecordDict({RECORD: told}), reply_to=message)
            self._replies[name].metadata.__dict__["_reply_to_message_id"] = name

    federation, transport = Impostor(), FolderTransport(tmp_path, 0.0)
    federation.join("north", tmp_path)
    session = transport.begin(["north"], True)
    transport.ask(1, b"a request", ["north"], lambda site, answer: "")
    before = sorted(tmp_path.rglob("*"))
    carrier = Carrier(federation, tmp_path)
    while not federation.sent or federation._replies:
        assert not carrier.look()
    assert sorted(tmp_path.rglob("*")) == before and session


def test_certificates_that_are_not_there_are_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    split(TABLE)[0].to_csv("north.csv", index=False)
    flower = ("--superlink", "localhost:1", "--root-certificates", "ca.crt")
    assert "no certificates at 'ca.crt'" in error(
        3, "site", "serve", "north.csv", "--name", "north", "--target", "died", *flower
    )
    assert "no certificates" in error(3, "federate", "--folder", ".", "--sites", "a,b,c", *flower)
    assert [path.name for path in tmp_path.iterdir()] == ["north.csv"]


# --- with processes, over TLS ----------------------------------------------------------------------------


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


def commands_of_the_guide() -> dict[str, str]:
    """What each does, by its first two words."""
    text = GUIDE.read_text(encoding="utf-8")
    block = re.search(r"<!-- run by tests/test_federated_flower.py -->\n.*?```sh\n(.*?)```", text, re.DOTALL)
    assert block is not None
    lines = [line.removesuffix(" &") for line in block[1].replace("\\\n", " ").splitlines()]
    return {" ".join(line.split()[: 1 + line.startswith("rootcausal")]): line for line in lines}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Programs:
    """Commands of the guide as processes, each with all that it starts in a group of its own."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self._port = folder, port
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: str) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        with open(self.folder / f"{name}.log", "ab") as log:
            self.running[name] = subprocess.Popen(
                command.replace("localhost:8000", f"localhost:{self._port}").split(),
                cwd=self.folder,
                env={**os.environ, **QUIET, "PATH": path, "FLWR_HOME": str(self.folder / "home")},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def kill(self, name: str) -> None:
        os.killpg(self.running[name].pid, signal.SIGKILL)
        self.running.pop(name).wait()

    def finished(self, name: str) -> str:
        assert self.running[name].wait(500) == 0, self.said(name)
        return self.said(name)

    def said(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(errors="replace")


@contextmanager
def programs(folder: Path, port: int) -> Iterator[Programs]:
    made = Programs(folder, port)
    try:
        yield made
    finally:
        for name in [name for name, process in made.running.items() if process.poll() is None]:
            made.kill(name)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills groups of processes")
def test_five_sites_over_tls_of_which_one_is_killed_give_the_answer_of_one_place(tmp_path: Path) -> None:
    certificates(tmp_path)
    for name, part in zip(NAMES, split(TABLE), strict=True):
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    typed, port = commands_of_the_guide(), free_port()
    assert set(typed) == {"flower-superlink", "mkdir", "rootcausal federate", "rootcausal site"}
    (tmp_path / "joint").mkdir()
    with programs(tmp_path, port) as program:
        program.start("key", "rootcausal site key --out study.key")
        program.finished("key")
        program.start("superlink", f"{typed['flower-superlink']} --port {port}")
        for name in NAMES:
            program.start(name, typed["rootcausal site"].replace("north", name))
        # A SuperLink that somebody else vouches for is not spoken to.
        (tmp_path / "other").mkdir()
        certificates(tmp_path / "other")
        stranger = typed["rootcausal site"].replace("--name north", "--name stranger")
        program.start("stranger", stranger.replace("ca.crt", "other/ca.crt"))
        program.start("federate", typed["rootcausal federate"])
        while len(list(tmp_path.glob("joint/*/answers/east/*.msg"))) < 6:
            assert program.running["federate"].poll() is None, program.said("federate")
            time.sleep(0.1)
        program.kill("east")
        program.start("east", typed["rootcausal site"].replace("north", "east"))
        assert program.running["stranger"].wait(100) == 3
        assert "CERTIFICATE_VERIFY_FAILED" in program.said("stranger")
        assert "only their totals were read" in program.finished("federate")
        for name in NAMES:
            assert "the session is over: done" in program.finished(name)
    whole, X = pooled(RCI(), TABLE)
    for path in ("model.rci", "site-east/messages/model.rci"):
        model = RCI.load(tmp_path / path)
        np.testing.assert_allclose(model.shapley_values(X), whole.shapley_values(X), atol=1e-10)
    assert list(model.causal_order_) == list(whole.causal_order_)
    # The messages are those of a folder: a site with the same rows answers them in the same words.
    (session,) = {path.parent.parent.name for path in tmp_path.glob("joint/*/requests/1.msg")}
    for place in ("joint", "site-north/messages", "site-east/messages"):
        requests = sorted((tmp_path / place / session / "requests").glob("*.msg"))
        assert [one.read_bytes() for one in requests] == [
            (tmp_path / "joint" / session / "requests" / one.name).read_bytes() for one in requests
        ]
    shutil.rmtree(tmp_path / "joint")
