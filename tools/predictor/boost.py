"""Trains boosted trees on what physics leaves over, and turns them into the arrays that ship. Needs LightGBM."""

from __future__ import annotations

from typing import Any

import numpy as np

from brimful.advise.fit.case import Array
from brimful.advise.fit.trees import Trees

PARAMETERS = {
    "objective": "huber",
    "alpha": 0.15,
    "learning_rate": 0.06,
    "num_leaves": 20,
    "min_data_in_leaf": 40,
    "feature_fraction": 0.6,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "max_depth": 7,
    "verbose": -1,
    "num_threads": 2,
    "seed": 1,
    "deterministic": True,
}


def boost(rows: Array, left_over: Array, weights: Array, rounds: int = 300, **changed: Any) -> Trees:
    """Return trees that predict what is left over."""
    import lightgbm  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - of the training alone

    data = lightgbm.Dataset(rows, left_over, weight=weights, free_raw_data=False)
    model = lightgbm.train({**PARAMETERS, **changed}, data, rounds)
    return _arrays(model.dump_model()["tree_info"])


def _arrays(trees: list[dict[str, Any]]) -> Trees:
    nodes: list[tuple[int, float, int, int, bool, float]] = []
    depth = 1

    def add(node: dict[str, Any], level: int) -> int:
        nonlocal depth
        depth = max(depth, level)
        place = len(nodes)
        nodes.append((0, 0.0, place, place, True, 0.0))
        if "leaf_value" in node:
            nodes[place] = (0, 0.0, place, place, True, float(node["leaf_value"]))
            return place
        left = add(node["left_child"], level + 1)
        right = add(node["right_child"], level + 1)
        nodes[place] = (
            int(node["split_feature"]),
            float(node["threshold"]),
            left,
            right,
            bool(node["default_left"]),
            0.0,
        )
        return place

    roots = [add(tree["tree_structure"], 0) for tree in trees]
    columns = list(zip(*nodes, strict=True))
    return Trees(
        roots=np.array(roots, np.int32),
        feature=np.array(columns[0], np.int32),
        threshold=np.array(columns[1]),
        left=np.array(columns[2], np.int32),
        right=np.array(columns[3], np.int32),
        missing_left=np.array(columns[4], np.bool_),
        value=np.array(columns[5]),
        depth=depth,
    )
