"""Files that are written whole or not at all."""

import os
import stat
from pathlib import Path

import pytest

from rootcausal.atomic_write import atomic_write, check_can_write


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
