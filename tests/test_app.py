"""The server of ``rootcausal app``: who gets in, what is taken, what is at work, and what is left behind."""

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np
import pyarrow as pa
import pytest
from command_line import ok
from page_facts import facts_of

import rootcausal
from rootcausal.app import serve
from rootcausal.app.job import Job
from rootcausal.app.study import safe_name
from rootcausal.cli.browser import CommandLine
from rootcausal.cli.script import OF_REPORT, declared, script_of
from rootcausal.data import load_pbc, simulate
from rootcausal.files.writing import write_tables


class Client:
    """Whoever talks to the app, with or without its address."""

    def __init__(self, address: str, once: str) -> None:
        self.address, self.once = urlsplit(address), urlsplit(once)

    def ask(self, method, path, body=None, headers=(), token=True):
        connection = http.client.HTTPConnection("127.0.0.1", self.address.port, timeout=60)
        try:
            path = self.address.path + path if token else path
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.headers
        finally:
            connection.close()

    def post(self, path, **facts):
        status, body, _ = self.ask("POST", path, json.dumps(facts))
        return status, json.loads(body)

    def upload(self, name, content):
        status, body, _ = self.ask("POST", "upload", content, [("X-Name", quote(name))])
        return status, json.loads(body)

    def ended(self, study):
        while True:
            told = json.loads(self.ask("GET", f"state/{study}")[1])
            if told["state"] != "running":
                return told
            time.sleep(0.05)


@pytest.fixture
def app(tmp_path, monkeypatch):
    """An app of which nothing is left when it has ended."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    found, there = [], threading.Event()

    def ready(address, once):
        found.append(Client(address, once))
        there.set()

    thread = threading.Thread(target=serve, args=(CommandLine(), ready))
    thread.start()
    assert there.wait(10)
    yield found[0]
    if thread.is_alive():
        assert found[0].post("end")[0] == 200
    thread.join(10)
    assert not thread.is_alive() and not list(tmp_path.glob("rootcausal-*"))
    monkeypatch.setattr("tempfile.tempdir", None)


# --- who gets in ------------------------------------------------------------------------------------------


def test_without_the_token_everything_is_refused(app):
    for path in (
        "/",
        "/app.js",
        "/state/1",
        "/report.html/1",
        "/model.rci/1",
        f"/{'x' * 43}/",
        "/open/",
        "/open/x",
    ):
        status, body, _ = app.ask("GET", path, token=False)
        assert status == 403 and b"not the one that rootcausal app printed" in body
    for path in ("/upload", "/look", "/fit", "/stop", "/end", f"/{'x' * 43}/end"):
        assert app.ask("POST", path, "{}", token=False)[0] == 403
    assert app.ask("GET", "")[0] == 200


def test_the_address_that_browsers_are_started_with_works_once(app):
    status, _, headers = app.ask("GET", app.once.path, token=False)
    assert status == 303 and headers["Location"] == app.address.path
    assert app.ask("GET", app.once.path, token=False)[0] == 403
    assert app.once.path.rpartition("/")[2] not in app.address.path


def test_other_sites_cannot_ask(app):
    for host in ("evil.example", f"evil.example:{app.address.port}", "127.0.0.1"):
        assert app.ask("GET", "", headers=[("Host", host)])[0] == 403
    for origin in ("http://evil.example", "null", f"http://127.0.0.1:{app.address.port + 1}"):
        assert app.ask("POST", "stop", '{"study": 1}', [("Origin", origin)])[0] == 403
    here = f"http://127.0.0.1:{app.address.port}"
    assert app.ask("POST", "stop", '{"study": 1}', [("Origin", here)])[0] == 409


def test_the_page_may_ask_for_nothing_but_its_own(app):
    for path in ("", "app.js", "questions.js", "app.css"):
        status, _, headers = app.ask("GET", path)
        assert status == 200 and headers["Content-Security-Policy"].startswith("default-src 'none'; ")
        assert (
            "http" not in headers["Content-Security-Policy"]
            and "unsafe" not in headers["Content-Security-Policy"]
        )
        assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"
    for path in ("../study.py", "..%2fstudy.py", "app.html", "nothing", "report.html/../../x"):
        assert app.ask("GET", path)[0] in (404, 409)


def test_only_this_machine_is_listened_to(app):
    with socket.socket() as other, pytest.raises(OSError):
        other.settimeout(2)
        other.connect((_address_outside(), app.address.port))


def _address_outside():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent
            found = probe.getsockname()[0]
        except OSError:
            pytest.skip("this machine has no address but the loopback")
    if found.startswith("127."):
        pytest.skip("this machine has no address but the loopback")
    return found


# --- what is taken ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("cohort.csv", "cohort.csv"),
        ("Köhorte März.xlsx", "Köhorte März.xlsx"),
        ("../../etc/passwd.csv", "_.._etc_passwd.csv"),
        ("..\\..\\boot.csv", "_.._boot.csv"),
        ("-rf.csv", "rf.csv"),
        (".hidden.csv", "hidden.csv"),
        ("a\x00b\nc\x1b.csv", "a_b_c_.csv"),
        ('<img src=x onerror="x">.csv', "_img src=x onerror=_x__.csv"),
        ("x" * 500 + ".csv.gz", "x" * 120 + ".csv.gz"),
        ("report.html", "report_.html"),
        ("model.rci", "model_.rci"),
        ("", "table"),
        ("\ud800.csv", "?.csv"),
    ],
)
def test_names_of_files_lead_nowhere(name, safe):
    assert safe_name(name) == safe


def test_what_is_no_table_is_refused_and_not_kept(app, tmp_path):
    for name, said in (
        ("json.py", "does not end like a table"),
        ("c.rds", "that only R reads"),
        ("x.pkl", "a pickle"),
    ):
        status, facts = app.upload(name, b"import os")
        assert status == 422 and said in facts["error"]
        assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_sizes_are_limited_before_anything_is_read(app):
    assert app.ask("POST", "upload", None, [("Content-Length", str(3 << 30))])[0] == 413
    assert app.ask("POST", "upload", iter([b"a"]), [("Transfer-Encoding", "chunked")])[0] == 411
    assert app.ask("POST", "fit", None, [("Content-Length", str(9 << 20))])[0] == 413
    for body in ("[1]", "{", b"\xff"):
        assert app.ask("POST", "fit", body)[0] == 400


def test_the_folder_is_of_this_user_only(app, tmp_path):
    app.upload("c.csv", b"a,b\n1,2\n")
    (folder,) = tmp_path.glob("rootcausal-*")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    app.upload("d.csv", b"a,b\n1,2\n")
    (other,) = tmp_path.glob("rootcausal-*")
    assert other != folder and (other / "d.csv").read_bytes() == b"a,b\n1,2\n"


def test_another_tab_is_told_that_its_table_is_gone(app):
    _, first = app.upload("c.csv", b"a,b\n1,2\n")
    app.upload("d.csv", b"a,b\n1,2\n")
    status, facts = app.post("fit", study=first["study"], options=[])
    assert status == 409 and "another table was opened since" in facts["error"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([["--knowledge", "/etc/passwd"]], "'--knowledge' is no option that can be chosen here"),
        ([["--resume", "x.npz"]], "no option that can be chosen"),
        ([["--out", "/tmp/x.html"]], "no option that can be chosen"),
        ([["--labels", "/etc/passwd"]], "no option that can be chosen"),
        ([["--target", "a"], ["--target", "b"]], "--target was chosen twice"),
        ([["--drop-missing", "a"]], "--drop-missing takes no value"),
        ([["--target", None]], "--target takes a value"),
        ([["--target", "a\x00b"]], "must be a text"),
        ([["--target", 7]], "must be a text"),
        (["--target"], "a choice is an option with its value"),
        ({"--target": "a"}, "choices are a list"),
    ],
)
def test_options_are_those_of_the_command_that_a_page_may_choose(app, options, said):
    study = app.upload("c.csv", b"a,b\n1,2\n")[1]["study"]
    status, facts = app.post("fit", study=study, options=options)
    assert status == 422 and said in facts["error"]


def test_every_option_that_can_be_chosen_is_one_of_the_command():
    import typer

    from rootcausal.cli import app as commands

    there = {
        name: one
        for one in typer.main.get_command(commands).commands["report"].params
        for name in (*one.opts, *one.secondary_opts)
    }
    for name, one in declared(OF_REPORT).items():
        assert there[name].name == one.field
        assert bool(there[name].is_flag) == one.is_flag and bool(there[name].multiple) == one.many


# --- what is at work --------------------------------------------------------------------------------------

# It does not hear that it is to end, and has started another process that does not either.
DEAF = (
    "import signal, subprocess, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print(subprocess.Popen([sys.executable, '-c', "
    "'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)']).pid, flush=True);"
    "print('x', file=sys.stderr, flush=True); time.sleep(60)"
)


def gone(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_stopping_ends_also_what_does_not_listen(tmp_path, monkeypatch):
    monkeypatch.setattr("rootcausal.app.job.SECONDS_TO_END", 0.3)
    job = Job([sys.executable, "-c", DEAF], [], tmp_path)
    while job.told()["said"] != ["x"]:
        time.sleep(0.02)
    assert job.told()["state"] == "running"
    job.stop()
    assert job.told()["state"] == "stopped"
    until = time.monotonic() + 5
    while not gone(int(job.printed)):
        assert time.monotonic() < until
        time.sleep(0.02)


def long_fit(app):
    """A fit that takes long, once it is at its resamples."""
    cohort = simulate(n_samples=200, n_variables=8, random_state=0)
    rows = "\n".join(",".join(map(str, row)) for row in np.column_stack([cohort.X, cohort.y]))
    study = app.upload("c.csv", f"a,b,c,e,f,g,h,d\n{rows}\n".encode())[1]["study"]
    options = [["--target", "d"], ["--bootstrap", "10000"]]
    assert app.post("fit", study=study, options=options)[0] == 200
    while True:
        told = json.loads(app.ask("GET", f"state/{study}")[1])
        assert told["state"] == "running", told
        if told["progress"].get("what") == "resamples" and told["progress"]["done"]:
            return study, told
        time.sleep(0.05)


def test_work_tells_how_far_it_is_and_can_be_stopped(app, tmp_path):
    study, told = long_fit(app)
    assert told["progress"]["total"] == 10000
    assert app.post("stop", study=study)[0] == 200
    assert app.ended(study)["state"] == "stopped"
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["c.csv"]
    for name in ("report.html", "model.rci", "rootcausal.py"):
        assert app.ask("GET", f"{name}/{study}")[0] in (404, 422)
    long_fit(app)  # the fixture ends the app meanwhile, and looks for what is left


def test_the_command_ends_with_a_signal_and_leaves_nothing(tmp_path):
    running = subprocess.Popen(
        [sys.executable, "-m", "rootcausal", "app", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    line = running.stdout.readline()
    assert line.startswith("the app is at http://127.0.0.1:")
    client = Client(line.split()[-1], line.split()[-1])
    assert client.upload("c.csv", b"a,b\n1,2\n")[0] == 200
    assert list(tmp_path.glob("rootcausal-*"))
    running.send_signal(signal.SIGINT)
    assert "interrupted" in running.communicate(timeout=20)[1] and running.returncode == 130
    assert not list(tmp_path.glob("rootcausal-*"))


def test_a_table_named_like_a_module_is_no_module(app, tmp_path):
    """Nothing is imported from where a command runs, which is where uploaded files lie."""
    study = app.upload("c.csv", b"a,b\n1,2\n")[1]["study"]
    (folder,) = tmp_path.glob("rootcausal-*")
    (folder / "typer.py").write_text("raise SystemExit('imported')")
    app.post("look", study=study, options=[])
    assert app.ended(study)["state"] == "done"


# --- the same by other doors ------------------------------------------------------------------------------


def labels_ids_and_holes(folder):
    table = load_pbc(complete=False).to_frame()
    words = ["dead" if died else "alive" for died in table["died"].to_pylist()]
    words[3::50] = [None] * len(words[3::50])
    table = table.set_column(table.column_names.index("died"), "died", pa.array(words))
    path = folder / 'p\'bc "1".csv'
    write_tables({path: table}, {})
    known = [["--first", "age"], ["--drop", "chol"], ["--log", "bili"]]
    shown = [["--patients", "40"], ["--redact-ids", None]]
    return path, [["--target", "died"], ["--id", "id"], *known, ["--bootstrap", "3"], *shown]


def drawn(folder, *arguments):
    ok("simulate", "--rows", 240, "--variables", 6, "--seed", 1, *arguments, "--out", folder / "c.csv")
    return folder / "c.csv"


def times(folder):
    told = [["--horizon", "1"], ["--time-unit", "years"]]
    return drawn(folder, "--outcome", "survival"), [["--time", "time"], ["--event", "event"], *told]


def a_number(folder):
    told = [["--outcome", "continuous"], ["--unit", "points"], ["--covariate", "x0"]]
    return drawn(folder, "--outcome", "continuous"), [["--target", "severity"], *told]


def cases_and_controls(folder):
    known = [["--kind", "x1=number"], ["--causes", "x1:x2"], ["--tiers", "x0 <"]]
    return drawn(folder), [["--target", "d"], ["--prevalence", "0.02"], *known]


def two_of_three_labels(folder):
    path = drawn(folder)
    head, *rows = path.read_text().splitlines()
    word = {"0": "well", "1": "ill"}
    rows = [f"{row[:-1]}{'other' if k % 9 == 0 else word[row[-1]]}" for k, row in enumerate(rows)]
    rows[4] = ",".join(["9999", *rows[4].split(",")[1:]])
    path.write_text("\n".join([head, *rows]) + "\n")
    said = [["--positive", "ill"], ["--negative", "well"], ["--na", "x0=9999"], ["--after", "x1"]]
    return path, [["--target", "d"], *said]


def two_labels_for_the_disease(folder):
    path, _ = two_of_three_labels(folder)
    said = [["--positive", "ill"], ["--positive", "other"], ["--negative", "well"], ["--drop", "x0"]]
    return path, [["--target", "d"], *said]


def late_entry_and_death_before(folder):
    path = drawn(folder, "--outcome", "survival")
    table = np.genfromtxt(path, delimiter=",", names=True)
    columns = {name: table[name] for name in table.dtype.names}
    rows = np.arange(table.size)
    columns["event"] = [
        ("free", "relapse", "death")[k] for k in np.where(rows % 7 == 0, 2, table["event"].astype(int))
    ]
    columns["entry"] = table["time"] * (rows % 3) / 9
    columns["place"] = [("north", "south")[k % 2] for k in rows]
    write_tables({path: pa.table(columns)}, {})
    told = [["--start", "entry"], ["--strata", "place"], ["--positive", "relapse"], ["--competing", "death"]]
    return path, [["--time", "time"], ["--event", "event"], *told]


def stages(folder):
    path = drawn(folder)
    head, *rows = path.read_text().splitlines()
    word = ["low", "mid", "high"]
    rows = [f"{row[:-1]}{word[min(2, int(row[-1]) + (k % 3 == 0))]}" for k, row in enumerate(rows)]
    path.write_text("\n".join([head, *rows]) + "\n")
    return path, [["--target", "d"], ["--outcome", "ordinal"], ["--levels", "low<mid<high"]]


def matched_sets(folder):
    path = drawn(folder)
    table = np.genfromtxt(path, delimiter=",", names=True)
    cases, controls = np.flatnonzero(table["d"] == 1), np.flatnonzero(table["d"] == 0)
    n = min(cases.size, controls.size)
    rows = np.stack([cases[:n], controls[:n]], axis=1).ravel()
    columns = {name: table[name][rows] for name in table.dtype.names}
    columns["d"] = columns["d"].astype(int)
    write_tables({path: pa.table({**columns, "set": [f"s{k}" for k in np.repeat(np.arange(n), 2)]})}, {})
    return path, [["--target", "d"], ["--strata", "set"]]


def a_count(folder):
    path = drawn(folder)
    table = np.genfromtxt(path, delimiter=",", names=True)
    rng = np.random.default_rng(0)
    columns = {name: table[name] for name in table.dtype.names if name != "d"}
    columns["weeks"] = rng.uniform(1, 9, table.size).round(1)
    columns["n"] = rng.poisson(columns["weeks"] * np.exp(table["x0"] / (4 * table["x0"].std())))
    write_tables({path: pa.table(columns)}, {})
    return path, [["--target", "n"], ["--outcome", "count"], ["--exposure", "weeks"]]


KINDS = (
    labels_ids_and_holes,
    times,
    a_number,
    cases_and_controls,
    two_of_three_labels,
    two_labels_for_the_disease,
    late_entry_and_death_before,
    stages,
    matched_sets,
    a_count,
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_script_does_what_the_command_does(kind, tmp_path, monkeypatch):
    path, choices = kind(tmp_path)
    script = script_of(path, choices)
    monkeypatch.chdir(tmp_path)
    arguments = [argument for pair in choices for argument in pair if argument is not None]
    ok("report", path, *arguments, "--save-model", "command.rci", "--out", "command.html")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(script, "rootcausal.py", "exec"), {})
    one, other = rootcausal.load("command.rci"), rootcausal.load("model.rci")
    assert one.feature_names_in_.tolist() == other.feature_names_in_.tolist()
    assert np.array_equal(one.causal_order_, other.causal_order_)
    assert np.array_equal(one._unit_effects, other._unit_effects)
    facts, same = facts_of(Path("command.html")), facts_of(Path("report.html"))
    for told in ("target", "outcome", "variables", "cohort", "bootstrap", "prevalence"):
        assert facts[told] == same[told], told


def test_hostile_names_are_no_code_in_the_script(tmp_path):
    evil = "');__import__('os').system('touch pwned');('"
    path = tmp_path / 'x"""\\.csv'
    rows = "".join(f"{k * 1.37 % 11 + 1:.3f},{k * k % 11},{k % 2}\n" for k in range(80))
    path.write_text(f'"{evil}",b,d\n{rows}')
    compiled = compile(script_of(path, [["--target", "d"], ["--log", evil]]), "s", "exec")
    assert evil in str(compiled.co_consts) or evil in compiled.co_consts
    assert "system" not in compiled.co_names and "__import__" not in compiled.co_names
