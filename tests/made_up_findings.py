"""Findings made up for tests of how they are told: what the checks themselves see is tested elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rootcausal.diagnostics import Check, Checked, Diagnosis


def finding(name: str = "linear", verdict: Any = "doubtful", **said: Any) -> Check:
    """A check with a question, a statement and, unless it is fine, a limit and advice of its own."""
    limit = "" if verdict == "fine" else f"The limit of {name}."
    facts = {
        "question": f"Is {name} so?",
        "number": 0.5,
        "p_value": 0.001,
        "statement": f"What {name} found.",
        "advice": limit and f"mend {name}.",
        "limit": limit,
    }
    return Check(name, verdict=verdict, **(facts | said))


def hidden_cause(*variables: str, verdict: Any = "broken") -> Check:
    return finding("unconfounded", verdict, variables=variables, touches="order")


def uncalibrated(verdict: Any = "broken") -> Check:
    return finding("calibrated", verdict, touches="risk")


def find_instead(monkeypatch: pytest.MonkeyPatch, checks: Sequence[Check], not_made: str = "") -> None:
    """Let every model find these, whatever its patients are."""

    def found(checked: Checked) -> Diagnosis:
        return Diagnosis(tuple(checks), dict(checked.provenance), not_made)

    monkeypatch.setattr("rootcausal.diagnostics.diagnose", found)
