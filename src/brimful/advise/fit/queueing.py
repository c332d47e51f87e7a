"""How long requests wait when they come at random to replicas that batch what has come: the steady state, computed.

A replica that is free takes what waits, `batch` requests at most, and is busy for the service time of that many;
requests that come meanwhile wait. Nothing is held back to fill a batch: batches grow by themselves as the load does.
Service times are known and do not vary, arrivals are Poisson (M/D/c, and M/D/1 with batches).

Computed is the chain of queue lengths at the moments when a service ends (the arrivals during a service are Poisson,
so the next length depends on this one alone), and from it the latency of a request that comes at any moment of a
service. That is exact for one replica, up to how finely moments are told apart. Several replicas without batches share
one queue: the chain then has a service end every c-th part of a service time, the wait for the next end is that for
the first of c services, and how often all are busy comes from Erlang's loss formula. Several replicas that batch have
a queue each, and each request goes to any of them by chance; a common queue would be a little faster at some loads.
Both are held against a simulation in tests/test_fit_queueing.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FULLEST = 0.97  # above this utilisation the wait is ruled by rare events: no figure of it would mean anything
_MOMENTS = 8  # moments of a service that are told apart
_MOST_STATES = 64  # of batches; larger ones are counted in groups of requests
_NEGLIGIBLE = 2e-6  # of all requests
_Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Steady:
    """Latencies in the steady state, waiting included; `utilization` is the busy share of the replicas."""

    mean_ms: float
    p50_ms: float
    p99_ms: float
    mean_batch: float
    utilization: float


def capacity_per_s(service_ms: Sequence[float], replicas: int = 1) -> float:
    """Return the rate that replicas keep up with when every batch is full."""
    return replicas * len(service_ms) * 1000.0 / service_ms[-1]


def steady(service_ms: Sequence[float], queries_per_s: float, replicas: int = 1) -> Steady | None:
    """Return the steady state, or None when the queue grows without bound.

    `service_ms[b - 1]` is the service time of a batch of b; its length is the largest batch.
    """
    if queries_per_s <= 0:
        return Steady(service_ms[0], service_ms[0], service_ms[0], 1.0, 0.0)
    if len(service_ms) > 1:
        queries_per_s, replicas = queries_per_s / replicas, 1
    if queries_per_s >= FULLEST * capacity_per_s(service_ms, replicas):
        return None
    rate = queries_per_s / 1000.0
    chain = _Chain.of(np.asarray(service_ms, dtype=float), rate, replicas)
    return _summed(chain, *_latencies(chain))


@dataclass(frozen=True, slots=True)
class _Chain:
    """Queue lengths at the ends of services, and how often each is left for each.

    Lengths are counted in groups of `group` requests. `service_ms[n]` is the service that follows length n,
    `left[n]` what it leaves in the queue, `flow[n, m]` the share of services that begin at n and end at m.
    """

    service_ms: _Array
    table_ms: _Array
    left: npt.NDArray[np.intp]
    share: _Array
    flow: _Array
    batch: int
    group: int
    rate: float
    replicas: int
    alone: float  # requests that find a free replica, for each end of a service

    @classmethod
    def of(cls, table: _Array, rate: float, replicas: int) -> _Chain:
        """Compute the chain of Poisson arrivals at `rate` a millisecond."""
        table = table[: _reachable(table, rate)] if replicas == 1 else table
        group = math.ceil(len(table) / _MOST_STATES)
        batch = math.ceil(len(table) / group)
        load = rate * table[-1] / len(table) / replicas
        states = batch + 16 + math.ceil(6 * load / (1 - load) / group)
        lengths = np.arange(states + 1)
        taken = np.minimum(lengths, batch)
        service = np.interp(_requests(taken, group), np.arange(1, len(table) + 1), table)
        left = np.asarray(np.maximum(lengths - batch, 0))
        moves = _moves(rate * service / replicas, batch, left, group)
        share = _stationary(moves)
        blocked = _erlang_loss(replicas, rate * table[0])
        idle_ms = (1 - blocked) / blocked * table[0] / replicas
        alone = float(share[0]) * rate * idle_ms
        return cls(service, table, left, share, share[:, None] * moves, batch, group, rate, replicas, alone)


def _requests(length: _Array | npt.NDArray[np.intp], group: int) -> _Array:
    """Return how many requests a length stands for: a group of g is one of 1 to g of them."""
    return np.asarray(length * group - (group - 1) / 2)


def _reachable(table: _Array, rate: float) -> int:
    """Return the largest batch that ever comes about: the arrivals during a service bound it."""
    arrivals = rate * table
    bound = arrivals + 8 * np.sqrt(arrivals) + 8
    small = np.nonzero(bound <= np.arange(1, len(table) + 1))[0]
    return int(small[0]) + 1 if len(small) else len(table)


def _moves(mean: _Array, batch: int, left: npt.NDArray[np.intp], group: int) -> _Array:
    """Return the probability of each next length for each length; the last takes all that lies beyond it."""
    states = len(left) - 1
    counts = np.arange(states * group + 1)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(counts[1:]))])
    few = mean[: batch + 1, None]
    chance = np.exp(counts * np.log(few) - few - log_factorial)
    if group > 1:
        grouped = chance[:, 1:].reshape(batch + 1, states, group).sum(axis=2)
        chance = np.concatenate([chance[:, :1], grouped], axis=1)
    step = np.arange(states + 1) - left[:, None]
    rows = np.minimum(np.arange(states + 1), batch)[:, None]
    moves = np.where(step >= 0, chance[rows, np.maximum(step, 0)], 0.0)
    moves[:, -1] += np.maximum(0.0, 1 - moves.sum(axis=1))
    return np.asarray(moves)


def _stationary(moves: _Array) -> _Array:
    system = moves.T - np.eye(len(moves))
    system[-1] = 1.0
    right = np.zeros(len(moves))
    right[-1] = 1.0
    share = np.maximum(np.linalg.solve(system, right), 0.0)
    return np.asarray(share / share.sum())


def _erlang_loss(servers: int, load: float) -> float:
    """Return how often all servers are busy when what finds them so goes away."""
    blocked = 1.0
    for number in range(1, servers + 1):
        blocked = load * blocked / (number + load * blocked)
    return blocked


def _latencies(chain: _Chain) -> tuple[_Array, _Array]:
    """Return latencies that occur, and the share of each, over the requests that find all replicas busy."""
    arrivals = np.arange(len(chain.left)) - chain.left[:, None]
    weight = chain.flow * np.maximum(arrivals, 0)
    begin, end = np.nonzero(weight > _NEGLIGIBLE * weight.sum())
    came = arrivals[begin, end][:, None]
    moment = (np.arange(_MOMENTS) + 0.5) / _MOMENTS
    ahead = chain.left[begin][:, None] + np.floor(moment * came)
    rounds = np.floor(ahead / chain.batch)
    full_ms = chain.table_ms[-1] / chain.replicas
    rest_ms = chain.service_ms[begin][:, None] * (1 - moment ** (1 / chain.replicas))
    behind = end[:, None] - rounds * chain.batch + chain.rate * rounds * full_ms / chain.group
    own = np.clip(np.where(rounds == 0, end[:, None], behind), 1, chain.batch)
    own_ms = np.interp(_requests(own, chain.group), np.arange(1, len(chain.table_ms) + 1), chain.table_ms)
    latency = rest_ms + rounds * full_ms + own_ms
    each = chain.flow[begin, end] * _requests(came[:, 0], chain.group) / _MOMENTS
    return latency.ravel(), np.repeat(each, _MOMENTS)


def _summed(chain: _Chain, latency: _Array, weight: _Array) -> Steady:
    latency = np.concatenate([[chain.table_ms[0]], latency])
    weight = np.concatenate([[chain.alone], weight])
    order = np.argsort(latency, kind="stable")
    latency, weight = latency[order], weight[order]
    upto = np.cumsum(weight) / weight.sum()
    p50, p99 = (float(latency[min(int(np.searchsorted(upto, share)), len(latency) - 1)]) for share in (0.5, 0.99))
    services = chain.alone + float(chain.share[1:].sum())
    busy_ms = chain.alone * float(chain.table_ms[0]) + float((chain.share * chain.service_ms)[1:].sum())
    mean_batch = max(1.0, float(weight.sum() / services))
    return Steady(
        mean_ms=float((latency * weight).sum() / weight.sum()),
        p50_ms=p50,
        p99_ms=p99,
        mean_batch=mean_batch,
        utilization=float(min(1.0, chain.rate * busy_ms / services / mean_batch / chain.replicas)),
    )
