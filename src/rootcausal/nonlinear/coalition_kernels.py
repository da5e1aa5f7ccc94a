"""Shapley values of a predictor by all coalitions of few players, or permutations of many, in compiled loops."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..backends.cpu.compiler import compiled
from ..method.table import F64, Index
from .coalitions import LANES, REPLICATES, Coalitions
from .compiled_mechanism import CompiledMechanism
from .propagation_kernels import (
    FUSED,
    add_curve,
    add_product,
    add_risk_product,
    predict,
    propagate,
    respond,
    settle,
)

class Room(NamedTuple):
    """What loops write over: rows of LANES numbers, and a number for each coalition."""

    z: F64
    f: F64
    log_g: F64
    at_cause: F64
    worth: F64
    of_all: F64
    errors: F64


@compiled(nogil=True)
def room_for(machine: CompiledMechanism, coalitions: Coalitions) -> Room:
    rows = most = 1
    for i in coalitions.places:
        rows = max(rows, coalitions.first_row[i] + (1 << coalitions.players[i]))
        most = max(most, 1 << coalitions.players[i])
    k = len(coalitions.plays)
    return Room(
        np.zeros((max(rows, k), LANES)),
        np.empty((most, LANES)),
        np.empty((most, LANES)),
        np.empty((most, LANES)),
        np.empty((1 << (coalitions.share.shape[0] - 1), REPLICATES)),
        np.empty((3, LANES)),
        np.zeros((k, LANES)),
    )


@compiled(nogil=True, fastmath=FUSED)
def add_rows(of: F64, rows: Index, begin: int, n: int, out: F64) -> None:
    """Add to the first n rows those rows of others that ``rows`` names from ``begin`` on."""
    for row in range(n):
        one, other = out[row], of[rows[begin + row]]
        for lane in range(LANES):
            one[lane] += other[lane]


@compiled(nogil=True, fastmath=FUSED)
def add_curves(
    curve: F64, is_line: bool, knots: F64, z: F64, rows: Index, begin: int, n: int, room: F64, out: F64
) -> None:
    """Add to the first n rows what an arrow does with each value ``z`` of its cause, worked out once."""
    for row in range(len(z)):
        room[row, :] = 0.0
        add_curve(curve, is_line, knots, -math.inf, math.inf, z[row], room[row])
    add_rows(room, rows, begin, n, out)


@compiled(nogil=True, fastmath=FUSED)
def propagate_all(
    machine: CompiledMechanism, coalitions: Coalitions, i: int, mine: F64, drawn: F64, room: Room
) -> None:
    """The values of place i for all coalitions upstream of it, from those of its causes."""
    plays, uneven = coalitions.plays[i], machine.heteroscedastic[i]
    n, first, rows = 1 << (coalitions.players[i] - plays), coalitions.first_row, coalitions.rows
    room.f[:n], room.log_g[:n] = machine.constant[i, 0], machine.constant[i, 1]
    for arrow in range(machine.into[i], machine.into[i + 1]):
        j, begin = machine.cause[arrow], coalitions.rows_of_arrow[arrow]
        z, knots = room.z[first[j] : first[j] + (1 << coalitions.players[j])], machine.knots[j]
        is_line = machine.expected_is_line[arrow]
        add_curves(machine.expected[arrow], is_line, knots, z, rows, begin, n, room.at_cause, room.f)
        if uneven:
            is_line = machine.spread_is_line[arrow]
            add_curves(machine.spread[arrow], is_line, knots, z, rows, begin, n, room.at_cause, room.log_g)
    for product in range(machine.products_into[i], machine.products_into[i + 1]):
        of_one, of_other = first[machine.factor[product]], first[machine.other_factor[product]]
        for row in range(n):
            one = room.z[of_one + rows[coalitions.rows_of_factor[product] + row]]
            other = room.z[of_other + rows[coalitions.rows_of_other_factor[product] + row]]
            add_product(machine.expected_product[product], machine.within, one, other, room.f[row])
            if uneven:
                add_product(machine.spread_product[product], machine.within, one, other, room.log_g[row])
    for row in range(n):
        settle(machine, i, room.f[row], room.log_g[row])
        respond(machine, i, room.f[row], room.log_g[row], drawn[i], room.z[first[i] + row])
        if plays:
            respond(machine, i, room.f[row], room.log_g[row], mine[i], room.z[first[i] + n + row])


@compiled(nogil=True, fastmath=FUSED)
def add_game(
    machine: CompiledMechanism, coalitions: Coalitions, game: int, room: Room, totals: F64
) -> None:
    """Add to ``totals`` (REPLICATES, k) the Shapley values of a component, from the rows of its places."""
    begin, end = coalitions.first_member[game], coalitions.first_member[game + 1]
    i, j, product = coalitions.place[game], coalitions.other_place[game], coalitions.product[game]
    rows, told = coalitions.rows, room.of_all[0]
    n = 1 << (end - begin)
    for coalition in range(n):
        told[:] = 0.0
        one = room.z[coalitions.first_row[i] + rows[coalitions.rows_of_place[game] + coalition]]
        if product < 0:
            low, high = machine.range[i, 0], machine.range[i, 1]
            add_curve(machine.risk[i], machine.risk_is_line[i], machine.knots[i], low, high, one, told)
        else:
            other = room.z[coalitions.first_row[j] + rows[coalitions.rows_of_other_place[game] + coalition]]
            add_risk_product(machine, product, one, other, told)
        for replicate in range(REPLICATES):
            room.worth[coalition, replicate] = 0.0
        for lane in range(0, LANES, REPLICATES):
            for replicate in range(REPLICATES):
                room.worth[coalition, replicate] += told[lane + replicate]
    for at in range(end - begin):
        player, bit = coalitions.member[begin + at], 1 << at
        for coalition in range(n):
            if coalition & bit:
                continue
            inside, rest = 0, coalition
            while rest:
                rest &= rest - 1
                inside += 1
            share = coalitions.share[end - begin, inside]
            for replicate in range(REPLICATES):
                gained = room.worth[coalition | bit, replicate] - room.worth[coalition, replicate]
                totals[replicate, player] += share * gained


@compiled(nogil=True, fastmath=FUSED)
def add_walks(
    machine: CompiledMechanism,
    coalitions: Coalitions,
    mine: F64,
    drawn: F64,
    order: Index,
    room: Room,
    totals: F64,
) -> None:
    """The same of all that is left to permutations: one a lane and its reverse, by ``order`` (LANES, w)."""
    what = coalitions.walked, coalitions.walked_acting, coalitions.walked_products
    f, log_g, last = room.f[0], room.log_g[0], coalitions.walkers.size - 1
    before, now, errors = room.of_all[0], room.of_all[1], room.errors
    of_mine, of_none = np.empty(LANES), np.empty(LANES)
    for i in coalitions.walked:
        errors[i, :] = mine[i]
    predict(machine, *what, errors, room.z, f, log_g, of_mine)
    for direction in range(2):
        for i in coalitions.walked:
            errors[i, :] = drawn[i]
        if direction == 0:
            predict(machine, *what, errors, room.z, f, log_g, of_none)
        before[:] = of_none
        for step in range(last + 1):
            for lane in range(LANES):
                i = order[lane, step if direction == 0 else last - step]
                errors[i, lane] = mine[i, lane]
            if step == last:
                now[:] = of_mine
            else:
                predict(machine, *what, errors, room.z, f, log_g, now)
            for lane in range(LANES):
                i = order[lane, step if direction == 0 else last - step]
                totals[lane % REPLICATES, i] += 0.5 * (now[lane] - before[lane])
            before[:] = now


@compiled(nogil=True, fastmath=FUSED)
def add_block(
    machine: CompiledMechanism,
    coalitions: Coalitions,
    chosen: np.ndarray,
    mine: F64,
    drawn: F64,
    order: Index,
    room: Room,
    totals: F64,
) -> None:
    """Add to ``totals`` (games, REPLICATES, k) the values of the chosen games, summed over the lanes.

    Lane by lane they are those of somebody whose errors are ``mine`` (k, LANES) where those of average people
    are ``drawn`` (k, LANES).
    """
    n_listed = coalitions.place.size
    for i in coalitions.places:
        for game in range(n_listed):
            if chosen[game] and coalitions.reads[game, i]:
                propagate_all(machine, coalitions, i, mine, drawn, room)
                break
    for game in range(n_listed):
        if chosen[game]:
            add_game(machine, coalitions, game, room, totals[game])
    if chosen.size > n_listed and chosen[n_listed]:
        add_walks(machine, coalitions, mine, drawn, order, room, totals[n_listed])


@compiled(nogil=True, fastmath=FUSED)
def sum_averages(
    machine: CompiledMechanism,
    coalitions: Coalitions,
    drawn: F64,
    order: Index,
    others: F64,
    begin: int,
    end: int,
    out: F64,
) -> None:
    """Blocks begin..end−1: sums (blocks, games, REPLICATES, k) of the values of others (blocks, m, k, LANES)."""
    room, chosen = room_for(machine, coalitions), np.ones(out.shape[1], dtype=np.bool_)
    for block in range(begin, end):
        for some in range(others.shape[1]):
            add_block(machine, coalitions, chosen, others[block, some], drawn[block], order[block], room, out[block])


@compiled(nogil=True, fastmath=FUSED)
def explain_patients(
    machine: CompiledMechanism,
    coalitions: Coalitions,
    errors: F64,
    drawn: F64,
    order: Index,
    centre: F64,
    enough: float,
    part_of: float,
    worth_it: float,
    begin: int,
    end: int,
    values: F64,
    noise: F64,
) -> None:
    """Patients begin..end−1: Shapley values (n, k) and their standard errors.

    After a first block of ``drawn`` (blocks, k, LANES), a patient is done whose standard errors are all at most
    ``part_of`` times their values, or ``enough``. Else as many blocks again are spent on each game that has a
    part in a standard error which is too large, of at least ``worth_it`` times the largest such part.
    ``centre`` (doublings, games, REPLICATES, k) is what all patients have on average, and nobody should have.
    """
    n_blocks, k = drawn.shape[0], drawn.shape[1]
    n_games, size = centre.shape[1], LANES // REPLICATES
    room, mine = room_for(machine, coalitions), np.zeros((k, LANES))
    totals, means = np.zeros((n_games, REPLICATES, k)), np.zeros((n_games, REPLICATES, k))
    chosen, done = np.ones(n_games, dtype=np.bool_), np.zeros(n_games, dtype=np.intp)
    doubled, until = np.zeros(n_games, dtype=np.intp), np.ones(n_games, dtype=np.intp)
    now, far, of_game = np.zeros(n_games, dtype=np.bool_), np.zeros(n_games), np.zeros(REPLICATES)
    for row in range(begin, end):
        for i in range(k):
            mine[i, :] = errors[row, i]
        totals[:], done[:], until[:], doubled[:], chosen[:] = 0.0, 0, 1, -1, True
        while chosen.any():
            for block in range(n_blocks):
                some = False
                for game in range(n_games):
                    now[game] = chosen[game] and done[game] <= block < until[game]
                    some |= now[game]
                if some:
                    add_block(machine, coalitions, now, mine, drawn[block], order[block], room, totals)
            for game in range(n_games):
                if chosen[game]:
                    done[game] = until[game]
                    doubled[game] += 1
                    for replicate in range(REPLICATES):
                        for i in range(k):
                            told = totals[game, replicate, i] / (size * done[game])
                            means[game, replicate, i] = told - centre[doubled[game], game, replicate, i]
            far[:] = 0.0
            for i in range(k):
                of_game[:] = 0.0
                for game in range(n_games):
                    for replicate in range(REPLICATES):
                        of_game[replicate] += means[game, replicate, i]
                values[row, i], noise[row, i] = mean_and_error(of_game)
                allowed = max(part_of * abs(values[row, i]), enough)
                if noise[row, i] > allowed:
                    for game in range(n_games):
                        of_game[:] = means[game, :, i]
                        far[game] = max(far[game], mean_and_error(of_game)[1] / allowed)
            most = 0.0
            for game in range(n_games):
                if done[game] < n_blocks:
                    most = max(most, far[game])
            for game in range(n_games):
                chosen[game] = done[game] < n_blocks and far[game] > 0.0 and far[game] >= worth_it * most
                if chosen[game]:
                    until[game] = 2 * done[game]


@compiled(nogil=True, fastmath=FUSED)
def mean_and_error(told: F64) -> tuple[float, float]:
    """The mean of what replicates say, and its standard error."""
    mean = square = 0.0
    for replicate in range(REPLICATES):
        mean += told[replicate] / REPLICATES
    for replicate in range(REPLICATES):
        square += (told[replicate] - mean) ** 2
    return mean, math.sqrt(square / (REPLICATES * (REPLICATES - 1)))
