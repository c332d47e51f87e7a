"""The encoders of text, family by family; what each does is taken from its code in huggingface/transformers 5.23.0."""

from __future__ import annotations

from collections.abc import Callable

from brimful.readers.huggingface.config import Config
from brimful.readers.huggingface.measures import Measures, add_rest, usual


def bert(c: Config) -> Measures:
    """Return what BERT and its kin have: biases everywhere, a norm after each part and one over the embeddings."""
    m = usual(c)
    m.update(
        decoder=False,
        kv_heads=m["heads"],
        gated=False,
        biases=True,
        norm_vectors=2,
        tied_embeddings=c.flag("tie_word_embeddings", default=True),
        positions=c.count("max_position_embeddings", default=512),
        token_types=c.count("type_vocab_size", default=2),
        head=_head(c, "pooler"),
        classes=_classes(c),
    )
    return m


def _head(c: Config, plain: str) -> str:
    """Return what stands at the end, by the class that the configuration was saved from."""
    name = next((item for item in c.items("architectures") if isinstance(item, str)), "")
    for end, head in (
        ("ForMaskedLM", "masked"),
        ("ForPreTraining", "masked"),
        ("LMHeadModel", "masked"),
        ("ForQuestionAnswering", "labels"),
        ("ForTokenClassification", "labels"),
        ("ForSequenceClassification", "pooled classes"),
        ("ForImageClassification", "classes"),
    ):
        if name.endswith(end):
            return head
    return plain


def _classes(c: Config) -> int:
    names = c.raw.get("id2label")
    return len(names) if isinstance(names, dict) and names else c.count("num_labels", default=2)


def image_head(c: Config, plain: str) -> tuple[str, int]:
    """Return the end of a model of images, and its classes."""
    head = _head(c, plain)
    return head, _classes(c) if head == "classes" else 0


def _distilbert(c: Config) -> Measures:
    m = bert(c)
    m.update(token_types=0, intermediate=c.count("hidden_dim"), head=_head(c, "none"))
    return m


def _mpnet(c: Config) -> Measures:
    m = bert(c)
    m["token_types"] = 0
    add_rest(m, c.count("relative_attention_num_buckets", default=32) * m["heads"])
    return m


def _albert(c: Config) -> Measures:
    m = bert(c)
    m.update(shared_layers=True, embedding_size=c.count("embedding_size", default=128, least=1))
    add_rest(m, m["hidden"])
    return m


def _electra(c: Config) -> Measures:
    """ELECTRA's discriminator asks of every token whether it was replaced: a dense matrix, then one number."""
    m = bert(c)
    m["head"] = _head(c, "none")
    if m["head"] == "masked" and any(str(item).endswith("ForPreTraining") for item in c.items("architectures")):
        m.update(head="dense labels", classes=1)
    width = c.count("embedding_size", default=m["hidden"], least=1)
    if width != m["hidden"]:
        m["embedding_size"] = width
        add_rest(m, m["hidden"])
    return m


def _deberta(c: Config) -> Measures:
    m = bert(c)
    m["head"] = _head(c, "none")
    m["token_types"] = c.count("type_vocab_size", default=0)
    if not c.flag("position_biased_input", default=True):
        m["positions"] = 0
    if c.flag("relative_attention"):
        buckets = c.raw.get("position_buckets")
        furthest = c.raw.get("max_relative_positions")
        far = c.count("max_relative_positions") if isinstance(furthest, int) and furthest > 0 else m["positions"] or 512
        m["relative_positions"] = 2 * (c.count("position_buckets") if isinstance(buckets, int) and buckets > 0 else far)
        add_rest(m, 2 * m["hidden"])
        if not c.flag("share_att_key"):
            add_rest(m, m["layers"] * 2 * (m["hidden"] * m["hidden"] + m["hidden"]))
    if (kernel := c.count("conv_kernel_size", default=0)) > 0:
        add_rest(m, m["hidden"] * m["hidden"] * kernel + 3 * m["hidden"])
    return m


def _modernbert(c: Config) -> Measures:
    """Two layers of three see a window; the first layer has no norm before its attention."""
    m = bert(c)
    every = max(1, c.count("global_attn_every_n_layers", default=3))
    m.update(gated=True, biases=False, norm_vectors=1, positions=0, token_types=0, head=_head(c, "none"))
    m.update(
        window=c.count("local_attention", default=128, least=1),
        windowed_layers=m["layers"] - (m["layers"] + every - 1) // every,
    )
    return m


ENCODERS: dict[str, Callable[[Config], Measures]] = {
    "bert": bert, "roberta": bert, "xlm-roberta": bert, "xlm-roberta-xl": bert, "camembert": bert, "ernie": bert,
    "megatron-bert": bert, "flaubert": bert, "data2vec-text": bert, "distilbert": _distilbert,
    "mpnet": _mpnet, "albert": _albert, "electra": _electra, "deberta-v2": _deberta, "deberta-v3": _deberta,
    "modernbert": _modernbert,
}  # fmt: skip
