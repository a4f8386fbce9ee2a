"""Configs that are refused: models without a cache of their own, and fields that say something this program cannot
read. A size that leaves such a field out of account would be a guess."""

from __future__ import annotations

import re

from prefixlab.kv_memory.config_fields import Fields

_ENCODERS = re.compile(
    r"""
    .*bert.* | .*roberta.* | deberta.* | electra | ernie | ernie_m | mpnet | longformer | big_bird | canine | esm | xlm
    | xlnet | funnel | fnet | nystromformer | roformer | rembert | squeezebert | splinter | luke | mra | nezha | yoso
    | gte | new | xmod | flaubert | layout(lm|xlm).* | lilt | bros | markuplm | tapas | dpr | data2vec.* | perceiver
    | jina_embeddings_v3 | esmc                                                                         # of text
    | vit([_-].*)? | vitdet | vitpose.* | vivit | vilt | timesformer | ijepa | vjepa2 | dpt
    | deit | beit | swin.* | dinov.* | convnext.* | cvt | levit | mobilevit.* | mobilenet_.*
    | resnet | regnet | efficientnet | poolformer | pvt.* | hiera | yolos | videomae | timm_wrapper     # of images
    | .*clip.* | .*siglip.* | clap.* | align(_.*)? | aimv2.* | bridgetower.* | flava.*
    | groupvit.* | owlv(2|it).* | videoprism.*                                                          # of both
    | .*[_-](vision|audio|vit|encoder|qformer)([_-](model|encoder))? | sam\d?_.* | .*_detr_.*           # towers
    | wav2vec2.* | wavlm | hubert | unispeech.* | sew(-d)? | ast | audio-spectrogram-transformer        # of sound
    """,
    re.VERBOSE,
)
_WITH_DECODER = re.compile(
    r"(.*-)?encoder-decoder|m?t5|umt5|longt5|t5gemma.*|pix2struct.*|switch_transformers|m?bart|mvp|plbart|pegasus.*|"
    r"bigbird_pegasus|marian|m2m_100|nllb-moe|blenderbot.*|prophetnet|led|whisper|moonshine|speech_to_text|trocr|"
    r"seamless_m4t.*|florence2"
)
_UNKNOWN_STATE = re.compile(r"rwkv.*|.*hyena.*|xlstm.*|retnet.*|phi4flash|plamo2|zaya|titans.*|huginn.*|raven")

_REPEATED = ("loop_num", "num_loops", "mean_recurrence", "num_recursion")
"""Numbers of times that layers are run again on their own output; what such a turn keeps is each model's own."""

_SHARING = ("kv_reuse_group", "kv_source_layer_ids")
"""Layers that read the cache of others, in ways that are not known here."""

_LAYOUT = re.compile(
    r"(.*attn|.*attention|hybrid|hyena|mamba|ssm|recurrent|swa|sliding|window|local|global|linear|conv)_?.*"
    r"_(idx|idxs|index|indices|ids|layout|layers|pattern|group|groups|map)|ssm_cfg|ssm_config|mamba_config"
)
"""Names of fields that say which layers are of another kind."""

_STATE = re.compile(r"(mamba|ssm|hyena|rwkv|lru|kda|gdn)_.*|linear_(num|key|value|conv)_.*|conv_L_cache")
"""Names of fields of layers that keep a state."""


def refuse_without_cache(fields: Fields) -> None:
    """Models that keep no cache of what they wrote, or one whose layers are not known here.

    Raises:
        BadRecord: it is one of them.
    """
    kind = fields.model_type
    name = kind.lower()
    said = None
    if _WITH_DECODER.fullmatch(name) or fields.flag("is_encoder_decoder"):
        said = "an encoder with a decoder"
    elif _ENCODERS.fullmatch(name) and not name.endswith("decoder"):
        # BERT and its kin are decoders too, where the config says so.
        said = None if fields.flag("is_decoder") else "an encoder"
    if said is not None:
        raise fields.complaint("model_type", f"{kind or 'this model'} is {said}", "Give the config of a decoder model")
    if _UNKNOWN_STATE.fullmatch(name):
        raise fields.complaint("model_type", f"what a layer of {kind} keeps is not known here", "Use --bytes-per-token")
    for field in (*_REPEATED, *_SHARING):
        value = fields.raw(field)
        if value and value != 1:
            what = f"what {field} means for the cache is not known here"
            raise fields.complaint(field, what, "Use --bytes-per-token")


def refuse_unread_layers(fields: Fields) -> None:
    """Fields that tell of kinds of layers, in a config from which no such layers were read.

    Raises:
        BadRecord: there is one.
    """
    for name, value in fields.values.items():
        if not value or fields.was_read(name):
            continue
        if (isinstance(value, list | dict) and _LAYOUT.fullmatch(name)) or _STATE.fullmatch(name):
            raise fields.complaint(
                name, f"what {name[:60]} says of the layers is not known here", "Use --bytes-per-token"
            )
