"""The order in which a graph's nodes run, and when each value is used for the last time."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from brimful.readers.onnx.messages import Graph, Info, Node
from brimful.readers.onnx.wire import Damaged


def captured(node: Node) -> set[str]:
    """Return the names that the graphs within a node take from around it."""
    names: set[str] = set()
    for graph in node.graphs():
        own = set(graph.initializers)
        own.update(info.name for info in graph.inputs)
        inner: set[str] = {info.name for info in graph.outputs}
        for item in graph.nodes:
            own.update(item.outputs)
            inner.update(item.inputs)
            if item.attributes:
                inner |= captured(item)
        names |= inner - own
    names.discard("")
    return names


def ordered(nodes: Sequence[Node], known: Container[str], uses: Mapping[int, set[str]]) -> list[Node]:
    """Return the nodes so that each follows what it needs; ONNX asks for that order, and not every file keeps it."""
    made: set[str] = set()
    for at, node in enumerate(nodes):
        for name in (*node.inputs, *uses.get(at, ())):
            if name and name not in made and name not in known:
                return _sorted(nodes, known, uses)
        made.update(node.outputs)
    return list(nodes)


def _sorted(nodes: Sequence[Node], known: Container[str], uses: Mapping[int, set[str]]) -> list[Node]:
    maker = {name: at for at, node in enumerate(nodes) for name in node.outputs if name}
    waits: list[int] = []
    followers: dict[int, list[int]] = {}
    for at, node in enumerate(nodes):
        needs = {name for name in (*node.inputs, *uses.get(at, ())) if name and name not in known}
        for name in needs:
            if name not in maker:
                raise Damaged(f"the node {title(node)} needs {name!r:.80}, which nothing gives")
        before = {maker[name] for name in needs}
        waits.append(len(before))
        for other in before:
            followers.setdefault(other, []).append(at)
    ready = [at for at, count in enumerate(waits) if not count]
    order: list[Node] = []
    for at in ready:  # it grows while it is gone through
        order.append(nodes[at])
        for follower in followers.get(at, ()):
            waits[follower] -= 1
            if not waits[follower]:
                ready.append(follower)
    if len(order) < len(nodes):
        stuck = next(node for node, count in zip(nodes, waits, strict=True) if count)
        raise Damaged(f"its graph goes in a circle, through the node {title(stuck)}")
    return order


def last_uses(nodes: Sequence[Node], outputs: Sequence[Info] | Sequence[str]) -> dict[str, int]:
    """Return for each name the place of the node that uses it last; what a graph gives is used after all nodes."""
    last: dict[str, int] = {}
    for at, node in enumerate(nodes):
        for name in node.inputs:
            last[name] = at
        if node.attributes:
            for name in captured(node):
                last[name] = at
    for item in outputs:
        last[item.name if isinstance(item, Info) else item] = len(nodes)
    return last


def title(node: Node) -> str:
    """Return what to call a node in a message."""
    name = node.name or next((output for output in node.outputs if output), "")
    return f"{name} ({node.op_type})"[:120] if name else node.op_type[:80]


def check_names(graph: Graph) -> None:
    """Refuse a name that two nodes give: which of them is meant cannot be known."""
    made: set[str] = set()
    for node in graph.nodes:
        for name in node.outputs:
            if name:
                if name in made:
                    raise Damaged(f"the name {name!r:.80} is given by two nodes, {title(node)} among them")
                made.add(name)
