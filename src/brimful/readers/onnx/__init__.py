"""What an ONNX file says of a model: its operations and what each costs, without the weights and without `onnx`.

In the order of the data: `wire.py` reads protobuf, `messages.py` and `tensors.py` what ONNX puts into it, `dims.py`
binds the sizes that are open, `walk.py` goes through the graph and asks `ops/` for each node's shapes and cost, and
`ledger.py` adds up.
"""

from __future__ import annotations

from brimful.readers.onnx.reader import OnnxReader

__all__ = ["OnnxReader"]
