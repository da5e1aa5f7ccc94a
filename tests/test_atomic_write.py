"""Files that are written whole or not at all."""

import builtins
import errno
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from rootcausal.files.writing import atomic_write, check_can_write


def old_file(folder: Path) -> Path:
    path = folder / "result.bin"
    path.write_text("old")
    return path


@pytest.mark.parametrize(
    "failure", [KeyboardInterrupt(), RuntimeError(), OSError(28, "No space left on device")]
)
def test_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, failure: BaseException) -> None:
    path = old_file(tmp_path)
    with pytest.raises(type(failure)) as caught, atomic_write(path) as handle:
        handle.write(b"half of the n")
        raise failure
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.bin"]
    if isinstance(caught.value, OSError):
        assert caught.value.strerror == f"cannot write '{path}': No space left on device."


def test_atomic_write_replaces_keeps_permissions_and_follows_links(tmp_path: Path) -> None:
    path = old_file(tmp_path)
    path.chmod(0o600)
    (tmp_path / "link").symlink_to(path)
    with atomic_write(tmp_path / "link") as handle:
        handle.write(b"new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (tmp_path / "link").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "result.bin"]


def test_paths_that_cannot_be_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path / "no" / "x.csv", f"the folder '{tmp_path / 'no'}' does not exist."),
        (tmp_path, "it is a folder."),
        (tmp_path / "pipe", "it is not a regular file."),
    ):
        with pytest.raises(OSError) as caught:
            check_can_write(path)
        assert caught.value.strerror == f"cannot write '{path}': {reason}"
    check_can_write(tmp_path / "fine.csv")
    assert os.listdir(tmp_path) == ["pipe"]


def test_write_protected_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = old_file(tmp_path)
    # The superuser may write anywhere, so the answer of the system is played here.
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(OSError, match="the file is write-protected"):
        check_can_write(path)


@pytest.mark.parametrize("number", [errno.EROFS, errno.EDQUOT, errno.EACCES])
def test_a_system_that_refuses_every_change_is_named_with_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    # A read-only system refuses to remove a file that is not there as well.
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    path = tmp_path / "c.csv"
    for place in (builtins, "open"), (os, "unlink"), (Path, "unlink"):
        monkeypatch.setattr(*place, refuse)
    with pytest.raises(OSError) as asked:
        check_can_write(path)
    with pytest.raises(OSError) as tried, atomic_write(path):
        raise AssertionError("there is nothing to write to")
    monkeypatch.undo()
    for caught in (asked, tried):
        assert caught.value.strerror == f"cannot write '{path}': {os.strerror(number)}."


def test_a_path_that_the_system_cannot_look_up_is_named(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 300 + ".csv")
    for attempt in (check_can_write, lambda path: atomic_write(path).__enter__()):
        with pytest.raises(OSError) as caught:
            attempt(path)
        assert caught.value.strerror.startswith(f"cannot write '{path}'"[:150])
        assert caught.value.strerror.endswith(": File name too long.")
