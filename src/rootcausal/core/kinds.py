"""Which kinds of mechanism and attribution there are, by the names that files give them."""

from __future__ import annotations

from .linear import LinearAttribution, LinearMechanism
from .model import Attribution, Mechanism

MECHANISMS: dict[str, type[Mechanism]] = {LinearMechanism.kind: LinearMechanism}
ATTRIBUTIONS: dict[str, type[Attribution]] = {LinearAttribution.kind: LinearAttribution}
