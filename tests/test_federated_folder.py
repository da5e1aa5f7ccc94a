"""Hospitals that open no port: messages are files in a folder, and whoever is stopped goes on."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from command_line import error, ok
from hospitals import NAMES, cohort, columns_for, joint, pooled, sites_of, split, with_gaps

from rootcausal import RCI, InputError
from rootcausal.cli import app
from rootcausal.data import simulate
from rootcausal.federated import FolderTransport, Site, fit, serve_folder

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
TABLE = with_gaps(cohort(), ("age", "ward"))


class Stopped(Exception):
    """Somebody pulled the plug."""


@pytest.fixture(scope="module")
def reference() -> tuple[Any, Any]:
    X = pooled(RCI(), TABLE)[1]
    return joint(RCI(), sites_of(TABLE)).shapley_values(X), X


def serving(sites: list[Site], folder: Path, stop: dict[str, int] | None = None) -> list[threading.Thread]:
    """Each site in a thread; one that stops at a number is started again on its rows, and knows nothing."""

    def run(site: Site) -> None:
        left = dict(stop or {})

        def told(number: int) -> None:
            if left.get(site.name) == number:
                del left[site.name]
                raise Stopped

        try:
            serve_folder(site, folder, 60.0, told)
        except Stopped:
            (fresh,) = [one for one in sites_of(TABLE) if one.name == site.name]
            serve_folder(fresh, folder, 60.0)

    threads = [threading.Thread(target=run, args=(site,), daemon=True) for site in sites]
    for thread in threads:
        thread.start()
    return threads


def test_sites_that_are_stopped_take_up_where_they_were(tmp_path: Path, reference: Any) -> None:
    threads = serving(sites_of(TABLE), tmp_path, {"east": 9, "island": 17})
    model = fit(RCI(), FolderTransport(tmp_path, 60.0), list(NAMES))
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    values, X = reference
    np.testing.assert_array_equal(model.shapley_values(X), values)


class Mischief(FolderTransport):
    """Files are cut short, come twice, under each other's names, and the coordinator stops twice."""

    stops = (13, 24)

    def ask(self, number: int, request: bytes, names: Any, accept: Any) -> dict[str, bytes]:
        if number in type(self).stops:
            type(self).stops = tuple(n for n in type(self).stops if n != number)
            raise Stopped
        told = super().ask(number, request, names, accept)
        here = self._folder / self._session
        requests, answers = here / "requests", here / "answers"
        (requests / f"{number + 1}.msg").write_bytes(request[: len(request) // 2])
        (requests / f"{number + 2}.msg").write_bytes(request)
        (requests / f"copy of {number}.msg").write_bytes(request)
        for name in names:
            path = answers / name / f"{number + 1}.msg"
            if not path.exists():
                path.write_bytes(told[name] if number % 2 else told[name][:-7])
        return told


def test_files_that_are_cut_short_repeated_and_reordered_do_no_harm(tmp_path: Path, reference: Any) -> None:
    threads = serving(sites_of(TABLE), tmp_path)
    stopped = 0
    while True:
        try:
            model = fit(RCI(), Mischief(tmp_path, 60.0), list(NAMES))
            break
        except Stopped:
            stopped += 1
    assert stopped == 2
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    values, X = reference
    np.testing.assert_array_equal(model.shapley_values(X), values)
    assert len([one for one in tmp_path.iterdir() if one.is_dir()]) == 1  # one session, taken up twice


def test_a_site_that_never_came_is_named(tmp_path: Path) -> None:
    threads = serving(sites_of(TABLE)[:4], tmp_path)
    transport = FolderTransport(tmp_path, 2.0)
    with pytest.raises(InputError, match="'island'"):
        fit(RCI(), transport, list(NAMES))
    transport.finish("the study ended")
    for thread in threads:
        thread.join(20)


def test_the_others_begin_again_without_a_site_that_never_came(tmp_path: Path) -> None:
    threads = serving(sites_of(TABLE)[:4], tmp_path)
    with pytest.warns(UserWarning, match="without 'island'"):
        model = fit(RCI(), FolderTransport(tmp_path, 5.0), list(NAMES), go_on_without=True)
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert model.provenance_["sites"]["without"] == ["island"]
    assert len([one for one in tmp_path.iterdir() if one.is_dir()]) == 2


def test_another_fit_does_not_go_on_in_the_middle_of_one(tmp_path: Path) -> None:
    for transport in (FolderTransport(tmp_path, 0.0), FolderTransport(tmp_path, 0.0)):
        with pytest.raises(InputError, match="no answer in time"):
            fit(RCI(), transport, list(NAMES))
    with pytest.raises(InputError, match="holds another fit"):
        fit(RCI(), FolderTransport(tmp_path, 0.0), list(NAMES[:3]))


def test_a_session_is_not_taken_up_on_other_rows(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    parts = split(TABLE.drop(columns=columns_for("died")))
    sites = sites_of(TABLE)
    north = [
        Site("north", part, target="died", key=bytes(32), folder=state) for part in (parts[0], parts[0][:-1])
    ]
    requests: list[bytes] = []

    class Recording(FolderTransport):
        def ask(self, number: int, request: bytes, names: Any, accept: Any) -> dict[str, bytes]:
            requests.append(request)
            raise Stopped

    with pytest.raises(Stopped):
        fit(RCI(), Recording(tmp_path), [site.name for site in sites])
    from rootcausal.federated.messages import decoded

    assert decoded(north[0].answer(requests[0])).kind == "answer"
    assert "not those with which it began" in decoded(north[1].answer(requests[0])).why


def test_commands_say_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    split(TABLE.drop(columns=columns_for("died")))[0].to_csv("north.csv", index=False)
    ok("site", "key")
    key = Path("study.key").read_text()
    assert re.fullmatch(r"[0-9a-f]{64}\n", key) and "there already" in error(3, "site", "key")
    assert "--name" in error(2, "site", "serve", "north.csv", "--target", "died", "--folder", ".")
    assert "--folder" in error(2, "site", "serve", "north.csv", "--name", "north", "--target", "died")
    assert "needs the table" in error(2, "site", "serve", "--name", "north")
    monkeypatch.setattr("rootcausal.federated.flower.find_spec", lambda name: None)
    flower = ("--superlink", "localhost:1")
    for command in (
        ("site", "serve", "north.csv", "--name", "north", "--target", "died"),
        ("federate", "--folder", ".", "--sites", "a,b,c"),
    ):
        assert "pip install 'rootcausal[flower]'" in error(2, *command, *flower)
    assert "'nobody'" in error(
        3, "site", "serve", "north.csv", "--name", "n", "--target", "nobody", "--folder", "."
    )
    assert "missing option '--folder'" in error(2, "federate", "--sites", "a,b,c")
    assert "no ledger" in error(3, "site", "ledger", "--name", "north")
    assert "no folder" in error(3, "federate", "--folder", "nowhere", "--sites", "a,b,c")
    assert "called" in error(3, "federate", "--folder", ".", "--sites", "a,../b,c")
    assert "not for --outcome binary" in error(2, "federate", "--folder", ".", "--sites", "a", "--horizon", 3)
    Path("study.key").write_text("short")
    said = error(
        3, "site", "dry-run", "north.csv", "--name", "north", "--target", "died", "--key", "study.key"
    )
    assert "holds no key" in said
    assert not Path("site-north").exists()


def test_a_dry_run_shows_all_requests_and_sends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    drawn = simulate(n_samples=300, n_variables=5, random_state=0)
    np.savetxt("a.csv", np.column_stack([drawn.X, drawn.y]), delimiter=",", header="a,b,c,e,d", comments="")
    said = ok("site", "dry-run", "a.csv", "--name", "a", "--target", "d")
    assert "nothing was sent" in said and "log-likelihood of the labels" in said and "in all" in said
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def commands_of_the_guide() -> list[str]:
    text = (Path(__file__).parent.parent / "docs" / "sites.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- run by tests/test_federated_folder.py -->\n.*?```sh\n(.*?)```", text, re.DOTALL)
    assert block is not None
    return [line for line in block[1].splitlines() if line.startswith("rootcausal ")]


def tables_of_the_guide(folder: Path) -> None:
    parts = split(TABLE.drop(columns=columns_for("died")), (400, 250, 170))
    for name, part in zip(("north", "south", "east"), parts, strict=True):
        part.to_csv(folder / f"{name}.csv", index=False)
    (folder / "share").mkdir()


def started(command: str, folder: Path) -> subprocess.Popen[str]:
    arguments = command.removesuffix("&").split()[1:]
    return subprocess.Popen(
        [sys.executable, "-m", "rootcausal", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> str:
    said, _ = process.communicate(timeout=200)
    assert process.returncode == 0, said
    return said


def test_the_guide_leads_from_nothing_to_a_joint_fit_in_five_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of them in a thread; as processes, and one of them killed, below."""
    commands = commands_of_the_guide()
    assert len(commands) == 5
    tables_of_the_guide(tmp_path)
    monkeypatch.chdir(tmp_path)

    def run(command: str) -> None:
        arguments = command.removesuffix("&").split()[1:]
        typer.main.get_command(app).main(arguments, prog_name="rootcausal", standalone_mode=False)

    run(commands[0])
    running = [threading.Thread(target=run, args=(command,), daemon=True) for command in commands[1:]]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(100)
    said = capsys.readouterr().out
    assert said.count("the session is over: done") == 3 and "model written to" in said
    whole = pooled(RCI(), TABLE.iloc[:820], sizes=(400, 250, 170))
    model = RCI.load(tmp_path / "share" / "model.rci")
    np.testing.assert_allclose(model.shapley_values(whole[1]), whole[0].shapley_values(whole[1]), atol=1e-10)
    entries = (tmp_path / "site-north" / "ledger.jsonl").read_text().splitlines()
    assert len(entries) >= model.provenance_["sites"]["rounds"]


@pytest.mark.slow
@pytest.mark.parametrize("who", ["site", "coordinator"])
def test_a_process_that_is_killed_is_started_again_and_the_answer_is_the_same(
    tmp_path: Path, who: str
) -> None:
    models = []
    for killed in (False, True):
        folder = tmp_path / str(killed)
        folder.mkdir()
        tables_of_the_guide(folder)
        commands = commands_of_the_guide()
        finished(started(commands[0], folder))
        running = [started(command, folder) for command in commands[1:]]
        if killed:
            place = 1 if who == "site" else 3
            while len(list(folder.glob("share/*/answers/south/*.msg"))) < 12:
                time.sleep(0.01)
            running[place].send_signal(signal.SIGKILL)
            running[place].wait()
            running[place] = started(commands[1 + place], folder)
        for process in running:
            finished(process)
        models.append(RCI.load(folder / "model.rci"))
        shutil.rmtree(folder / "share")
    X = pooled(RCI(), TABLE)[1]
    np.testing.assert_array_equal(models[0].shapley_values(X), models[1].shapley_values(X))
    entries = [json.loads(line) for line in (tmp_path / "True" / "site-south" / "ledger.jsonl").open()]
    assert len({entry["session"] for entry in entries}) == 1
