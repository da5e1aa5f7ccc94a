"""Shapley values by all coalitions of few players, or permutations of many, in compiled loops."""

from __future__ import annotations

import numpy as np

from ..backends.cpu.compiler import FASTMATH, compiled
from ..method.table import F64, Index
from .coalitions import LANES, REPLICATES, Games, Room, Rows
from .mechanism import CompiledMechanism
from .propagation_kernels import FUSED, add_curves, add_products, copy, fill, predict, propagate


@compiled(inner=True, nogil=True, fastmath=FUSED)
def add_game(
    machine: CompiledMechanism, rows: Rows, games: Games, game: int, room: Room, totals: F64
) -> None:
    """Add to ``totals`` (REPLICATES, k) the Shapley values of a component, from the rows of its places."""
    begin, end = games.first_member[game], games.first_member[game + 1]
    i, j, product = games.place[game], games.other_place[game], games.product[game]
    told, first, n = room.f, room.first, 1 << (end - begin)
    fill(0.0, n, told)
    first[0], first[1] = rows.first[i], rows.first[j]
    if product < 0:
        low, high, is_line = machine.range[i, 0], machine.range[i, 1], machine.risk_is_line[i]
        add_curves(machine.risk[i], is_line, machine.knots[i], low, high, room.z, first[0], n, told)
    else:
        one, other = games.rows_of_place[game], games.rows_of_other_place[game]
        weight, limits = machine.risk_product[product], machine.risk_limits[product]
        add_products(weight, limits, room.z, rows.number, one, other, first, n, told)
    add_up_lanes(told, n, room.worth)
    for at in range(end - begin):
        share_out(room.worth, games.share, end - begin, n, 1 << at, totals, games.member[begin + at])


@compiled(inner=True, nogil=True, fastmath=FUSED)
def add_up_lanes(told: F64, n: int, worth: F64) -> None:
    """``worth`` (REPLICATES, n) of coalitions: the sum of the lanes of each replicate."""
    for coalition in range(n):
        for replicate in range(REPLICATES):
            total = 0.0
            for lane in range(replicate, LANES, REPLICATES):
                total += told[coalition, lane]
            worth[replicate, coalition] = total


@compiled(inner=True, nogil=True, fastmath=FASTMATH)
def share_out(worth: F64, share: F64, players: int, n: int, bit: int, totals: F64, player: int) -> None:
    """Add what a player, whose bit this is, gains for n coalitions of players, each as much as it counts."""
    for replicate in range(REPLICATES):
        total = 0.0
        for high in range(0, n, 2 * bit):
            for without in range(high, high + bit):
                gained = worth[replicate, without + bit] - worth[replicate, without]
                total += share[players, without] * gained
        totals[replicate, player] += total


@compiled(inner=True, nogil=True, fastmath=FUSED)
def add_walks(
    machine: CompiledMechanism,
    one_each: Rows,
    games: Games,
    mine: F64,
    drawn: F64,
    order: Index,
    room: Room,
    totals: F64,
) -> None:
    """The same of all that is left to permutations: one a lane and its reverse, by ``order`` (LANES, w)."""
    what = games.walked, games.walked_acting, games.walked_products
    last, row, errors = games.walkers.size - 1, np.intp(1), np.empty(mine.shape)
    at_mine, at_drawn = np.empty((1, LANES)), np.empty((1, LANES))
    now, before = np.empty((1, LANES)), np.empty((1, LANES))
    predict(machine, one_each, *what, mine, room, at_mine)
    predict(machine, one_each, *what, drawn, room, at_drawn)
    for direction in range(2):
        copy(drawn, len(drawn), errors)
        copy(at_drawn, row, before)
        for step in range(last + 1):
            for lane in range(LANES):
                i = order[lane, step if direction == 0 else last - step]
                errors[i, lane] = mine[i, lane]
            if step < last:
                predict(machine, one_each, *what, errors, room, now)
            else:
                copy(at_mine, row, now)
            for lane in range(LANES):
                i = order[lane, step if direction == 0 else last - step]
                totals[lane % REPLICATES, i] += 0.5 * (now[0, lane] - before[0, lane])
            copy(now, row, before)


@compiled(nogil=True, fastmath=FUSED)
def add_blocks(
    machine: CompiledMechanism,
    rows: Rows,
    one_each: Rows,
    games: Games,
    room: Room,
    mine: F64,
    drawn: F64,
    order: Index,
    done: Index,
    until: Index,
    begin: int,
    end: int,
    totals: F64,
) -> None:
    """Patients begin..end−1: add their values to ``totals`` (n, games, REPLICATES, k), summed over the lanes.

    They are those by each game, from block ``done`` up to block ``until`` (n, games) of people. Lane by lane
    they are those of somebody whose errors are ``mine`` (n, k, LANES), or (n, k, 1) where all lanes have the
    same, and those of average people ``drawn`` (blocks, k, LANES), in the ``order`` (blocks, LANES, w) where
    there are permutations.
    """
    n_listed, now = games.place.size, np.zeros(done.shape[1], dtype=np.bool_)
    of_row, same = np.empty((mine.shape[1], LANES)), mine.shape[2] == 1
    for row in range(begin, end):
        for i in range(mine.shape[1]):
            for lane in range(LANES):
                of_row[i, lane] = mine[row, i, 0 if same else lane]
        for block in range(len(drawn)):
            some = False
            for game in range(now.size):
                now[game] = done[row, game] <= block < until[row, game]
                some |= now[game]
            if not some:
                continue
            for i in games.places:
                for game in range(n_listed):
                    if now[game] and games.reads[game, i]:
                        propagate(machine, rows, i, of_row, drawn[block], room)
                        break
            for game in range(n_listed):
                if now[game]:
                    add_game(machine, rows, games, game, room, totals[row, game])
            if now.size > n_listed and now[n_listed]:
                asked = of_row, drawn[block], order[block]
                add_walks(machine, one_each, games, *asked, room, totals[row, n_listed])
