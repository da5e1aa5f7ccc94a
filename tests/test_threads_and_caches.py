"""What the package leaves behind in its process, and what it needs of the machine it runs on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import joblib
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import rootcausal
from rootcausal import RCI
from rootcausal.data import simulate
from rootcausal.resampling import bootstrap as bootstrap_module
from rootcausal.resampling import bootstrap as learning_module

PATIENCE = 60  # seconds, after which a test that hangs fails instead


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two_blas_threads() -> Iterator[None]:
    """Two threads, also on one core; set by a thread that is gone, so that nobody owns the number."""
    with ThreadPoolExecutor(1) as gone:
        limits = gone.submit(threadpool_limits, 2, user_api="blas").result()
    yield
    with ThreadPoolExecutor(1) as gone:
        gone.submit(limits.restore_original_limits).result()


@pytest.mark.usefixtures("two_blas_threads")
@pytest.mark.parametrize("limited_by_the_user", [False, True])
def test_a_bootstrap_in_threads_gives_linear_algebra_its_threads_back(
    limited_by_the_user: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two resamples overlap; the one that began first ends first."""
    both_are_at_work, first_is_done = threading.Barrier(2), threading.Event()
    seen: list[set[int]] = []
    resample, learn = bootstrap_module.resample, learning_module.learn_mechanism

    def watched_learn(*arguments: Any) -> Any:
        if both_are_at_work.wait(PATIENCE):
            assert first_is_done.wait(PATIENCE)
        seen.append(blas_threads())
        return learn(*arguments)

    def watched_resample(*arguments: Any) -> Any:
        model = resample(*arguments)
        first_is_done.set()
        return model

    cohort = simulate(100, 4, random_state=0)
    model = RCI().fit(cohort.X, cohort.y)
    monkeypatch.setattr(learning_module, "learn_mechanism", watched_learn)
    monkeypatch.setattr(bootstrap_module, "resample", watched_resample)
    monkeypatch.setattr(bootstrap_module, "TRIED_HERE", 0)
    with (
        threadpool_limits(2, user_api="blas") if limited_by_the_user else nullcontext(),
        joblib.parallel_config(backend="threading", n_jobs=2),
    ):
        assert blas_threads() == {2}
        model.bootstrap(2)
        assert blas_threads() == {2}
    assert seen == [{1}, {1}]


IN_TWO_THREADS = """
import sys, threading
from pathlib import Path

from rootcausal import RCI
from rootcausal.backends.cpu import compiler
from rootcausal.data import simulate_nonlinear

compiler.WORTH_A_THREAD = 100  # a small cohort is worth threads too
cohort = simulate_nonlinear(120, 4, random_state=3)
model = RCI(mechanism="nonlinear").fit(cohort.X, cohort.y)
model.bootstrap(4)
doors = {
    "explain": lambda number: model.explain(cohort.X),
    "diagnose": lambda number: model.diagnose(cohort.X, cohort.y),
    "report": lambda number: model.report(cohort.X, Path(sys.argv[1]) / f"{number}.html"),
    "bootstrap": lambda number: RCI(mechanism="nonlinear").fit(cohort.X, cohort.y).bootstrap(3),
}
for name, door in doors.items():
    print(name, "begins", flush=True)
    for _ in range(3):
        at_once = [threading.Thread(target=door, args=(number,)) for number in range(2)]
        for thread in at_once:
            thread.start()
        for thread in at_once:
            thread.join()
    print(name, "ended", flush=True)
"""


def test_two_threads_may_ask_one_model(tmp_path: Path) -> None:
    """Two callers and two threads of ours, whose work asks for threads in turn: nobody waits for ever."""
    done = subprocess.run(
        [sys.executable, "-c", IN_TWO_THREADS, str(tmp_path)],
        env=os.environ | {"NUMBA_NUM_THREADS": "2", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,  # loops may have to be compiled first
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "bootstrap ended"
    assert "Traceback" not in done.stderr


def test_without_a_cache_folder_loops_are_compiled_anew(tmp_path: Path) -> None:
    package = tmp_path / "rootcausal"
    source = Path(rootcausal.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    # A file where the folder should be keeps out even root, as a read-only disk would.
    blocked = tmp_path / "blocked"
    blocked.touch()
    for folder in {path.parent for path in package.rglob("*.py")}:
        (folder / "__pycache__").touch()
    nowhere = dict.fromkeys(("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME"), str(blocked / "cache"))
    code = """if True:
        import numpy as np
        import rootcausal.comparators
        from rootcausal.backends.cpu.rows import NumbaRaw
        table = NumbaRaw(np.eye(3), None).standardize(np.arange(3), np.zeros(3), np.ones(3))
        print(np.isclose(table.column_sums()[0, 1], np.exp(-0.5)), rootcausal.__file__)
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-B", "-c", code],
        env=os.environ | nowhere | {"PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", str(package / "__init__.py")]


def test_a_cached_loop_knows_what_it_read_in_other_files(tmp_path: Path) -> None:
    """A constant and a function of another file are compiled into it."""
    elsewhere = "from numba import njit\nFACTOR = {}\n@njit\ndef plus(x):\n    return x + {}\n"
    loop = "from elsewhere import FACTOR, plus\nfrom rootcausal.backends.cpu.compiler import compiled\n\n"
    loop += "@compiled()\ndef loop(x):\n    return plus(FACTOR * x)\n\nprint(loop(1.0))\n"
    (tmp_path / "loop.py").write_text(loop)

    def told(*written: float) -> tuple[float, int]:
        """What the loop says, and how many of it are kept."""
        (tmp_path / "elsewhere.py").write_text(elsewhere.format(*written))
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        done = subprocess.run(
            [sys.executable, "-B", "-c", "import loop"],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": path},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return float(done.stdout), len(list((tmp_path / "cache").rglob("*.nbc")))

    assert told(2.0, 1.0) == (3.0, 1)
    assert told(2.0, 1.0) == (3.0, 1)
    assert told(4.0, 1.0) == (5.0, 2)
    assert told(4.0, 3.0) == (7.0, 3)


def test_a_terminal_is_told_once_what_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(
        "import sys\nfrom rootcausal.backends.cpu.compiler import compiled\n\n"
        "@compiled()\ndef one(x):\n    return x + 1.0\n\n"
        "@compiled()\ndef two(x):\n    return x + 2.0\n\n"
        "sys.stderr.isatty = lambda: sys.argv[1] == 'terminal'\nprint(one(1.0), two(1.0))\n"
    )
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = []
    for where, cache in (("file", "a"), ("terminal", "b"), ("terminal", "b")):
        env["NUMBA_CACHE_DIR"] = str(tmp_path / cache)
        done = subprocess.run(
            [sys.executable, tmp_path / "loop.py", where], env=env, capture_output=True, text=True, check=True
        )
        assert done.stdout == "2.0 3.0\n"
        said.append(done.stderr.count("compiling"))
    # Nothing in a pipe, once in a terminal, and not again where code was kept.
    assert said == [0, 1, 0]


def test_a_cache_that_names_what_an_update_took_away_is_none(tmp_path: Path) -> None:
    """An index holds types of arguments, and is read before anybody looks whether the file is the same."""
    loop = "from elsewhere import {0}\nfrom rootcausal.backends.cpu.compiler import compiled\n\n"
    loop += "@compiled()\ndef loop(pair):\n    return pair.a + pair.b\n\nprint(loop({0}(1.0, 2.0)))\n"
    for name in ("Pair", "Couple", "Couple"):
        source = f"from typing import NamedTuple\nclass {name}(NamedTuple):\n    a: float\n    b: float\n"
        (tmp_path / "elsewhere.py").write_text(source)
        (tmp_path / "loop.py").write_text(loop.format(name))
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        done = subprocess.run(
            [sys.executable, "-B", "-c", "import loop"],
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": path},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert float(done.stdout) == 3.0
