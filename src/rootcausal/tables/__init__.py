"""Where rows live: each module sums over its rows and decides nothing (see :mod:`rootcausal.core.table`)."""
