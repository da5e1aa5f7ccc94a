"""The sources of the card, by name."""

from __future__ import annotations

from pathlib import Path

from ..experiments.methods import own_class
from .causrca import CausRCA
from .light_tunnel import LightTunnel, LightTunnelUnseen
from .petshop import PetShop
from .sock_shop import SockShop
from .tennessee_eastman import TennesseeEastman
from .trial import Source

SOURCES: dict[str, type[Source]] = {
    LightTunnel.name: LightTunnel,
    LightTunnelUnseen.name: LightTunnelUnseen,
    SockShop.name: SockShop,
    PetShop.name: PetShop,
    TennesseeEastman.name: TennesseeEastman,
    CausRCA.name: CausRCA,
}
# Sources of the same files lie in the folder of the first.
FOLDERS = {LightTunnelUnseen.name: LightTunnel.name}


def find_source(name: str) -> Source:
    """A source of the card by its name, or ``package.module:Class``."""
    if name in SOURCES:
        return SOURCES[name]()
    made_by = own_class(name, "source", list(SOURCES), ("trials",))
    found: Source = made_by()
    return found


def folder_of(source: Source, data: Path) -> Path:
    """Where its files are: in the folder of its name, where there is one, or in ``data`` itself."""
    inside = data / FOLDERS.get(source.name, source.name)
    return inside if inside.is_dir() else data
