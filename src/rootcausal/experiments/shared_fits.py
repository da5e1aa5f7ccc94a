"""What several methods learn from the same data set, learned once."""

from __future__ import annotations

import time
from functools import cached_property
from typing import Any

from ..comparators import AdaptiveLogistic
from ..comparators.disease_graph import DiseaseGraph, learn_disease_graph
from ..comparators.graph_comparator import GraphComparator
from ..method.table import F64, Index
from .methods import find_method


class SharedFits:
    """Fits methods to one data set, all from one seed.

    The logistic regression of LR also finds D's parents in the graph of CO and MS. Each is learned when it is
    first asked for, and its seconds count for every method that uses it.
    """

    def __init__(self, X: F64, y: Index, seed: int) -> None:
        self.X = X
        self.y = y
        self.seed = seed

    def fit(self, name: str) -> tuple[Any, float]:
        """The fitted method, and the seconds that fitting takes."""
        model = find_method(name).make(self.seed)
        if isinstance(model, AdaptiveLogistic):
            return self._logistic
        if isinstance(model, GraphComparator):
            graph, spent = self._graph
            began = time.perf_counter()
            model.fit(self.X, self.y, graph=graph)
            return model, spent + time.perf_counter() - began
        began = time.perf_counter()
        model.fit(self.X, self.y)
        return model, time.perf_counter() - began

    @cached_property
    def _logistic(self) -> tuple[AdaptiveLogistic, float]:
        began = time.perf_counter()
        model = AdaptiveLogistic(random_state=self.seed).fit(self.X, self.y)
        return model, time.perf_counter() - began

    @cached_property
    def _graph(self) -> tuple[DiseaseGraph, float]:
        logistic, spent = self._logistic
        began = time.perf_counter()
        standardised = (self.X - logistic.mean_) / logistic.sd_
        graph = learn_disease_graph(standardised, self.y, self.seed, logistic)
        return graph, spent + time.perf_counter() - began
