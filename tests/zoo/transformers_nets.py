"""Hugging Face transformers, as small as they go. Nothing is downloaded: weights are random."""

from __future__ import annotations

from typing import Any

import torch
import transformers as hf
from torch import Tensor, nn

from zoo.built import Builder, Built

_TEXT: dict[str, Any] = {
    "vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": 32,
}  # fmt: skip


def _tokens(length: int = 7) -> Tensor:
    return torch.randint(3, 50, (2, length))


def _with(model: nn.Module, **kwargs: Any) -> Built:
    return Built(model.eval(), kwargs=kwargs)


def bert() -> Built:
    mask = torch.ones(2, 7, dtype=torch.long)
    mask[1, 5:] = 0
    return _with(hf.BertForSequenceClassification(hf.BertConfig(**_TEXT)), input_ids=_tokens(), attention_mask=mask)


def gpt2() -> Built:
    config = hf.GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=32)
    return _with(hf.GPT2LMHeadModel(config), input_ids=_tokens())


def llama() -> Built:
    return _with(hf.LlamaForCausalLM(hf.LlamaConfig(**_TEXT, num_key_value_heads=1)), input_ids=_tokens())


def t5() -> Built:
    config = hf.T5Config(vocab_size=50, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2)
    return _with(hf.T5ForConditionalGeneration(config), input_ids=_tokens(), decoder_input_ids=_tokens(4))


def vit() -> Built:
    config = hf.ViTConfig(**_without(_TEXT, "vocab_size", "max_position_embeddings"), image_size=16, patch_size=4)
    return _with(hf.ViTForImageClassification(config), pixel_values=torch.rand(1, 3, 16, 16))


def swin() -> Built:
    config = hf.SwinConfig(image_size=32, patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[1, 2], window_size=4)
    return _with(hf.SwinForImageClassification(config), pixel_values=torch.rand(1, 3, 32, 32))


def clip() -> Built:
    text = {**_TEXT, "eos_token_id": 2, "bos_token_id": 1, "pad_token_id": 0}
    vision = {**_without(_TEXT, "vocab_size", "max_position_embeddings"), "image_size": 16, "patch_size": 8}
    config = hf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=8)
    ids = _tokens()
    ids[:, -1] = 2
    return _with(hf.CLIPModel(config), input_ids=ids, pixel_values=torch.rand(2, 3, 16, 16))


def whisper() -> Built:
    config = hf.WhisperConfig(
        vocab_size=50, num_mel_bins=8, d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, max_source_positions=16,
        max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
    )  # fmt: skip
    return _with(hf.WhisperModel(config), input_features=torch.rand(1, 8, 32), decoder_input_ids=_tokens(4)[:1])


def detr() -> Built:
    backbone = hf.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage4"]
    )
    config = hf.DetrConfig(
        use_timm_backbone=False, backbone=None, use_pretrained_backbone=False, backbone_config=backbone, d_model=16,
        encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=32,
        decoder_ffn_dim=32, num_queries=5,
    )  # fmt: skip
    return _with(hf.DetrForObjectDetection(config), pixel_values=torch.rand(1, 3, 64, 64))


def segformer() -> Built:
    config = hf.SegformerConfig(
        hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=16
    )
    return _with(hf.SegformerForSemanticSegmentation(config), pixel_values=torch.rand(1, 3, 64, 64))


def mixtral() -> Built:
    config = hf.MixtralConfig(**_TEXT, num_key_value_heads=1, num_local_experts=4, num_experts_per_tok=2)
    return _with(hf.MixtralForCausalLM(config), input_ids=_tokens())


def mamba() -> Built:
    config = hf.MambaConfig(vocab_size=50, hidden_size=16, state_size=4, num_hidden_layers=2)
    return _with(hf.MambaForCausalLM(config), input_ids=_tokens())


def deberta() -> Built:
    config = hf.DebertaV2Config(**_TEXT, relative_attention=True, pos_att_type=["p2c", "c2p"])
    return _with(hf.DebertaV2Model(config), input_ids=_tokens())


def longformer() -> Built:
    config = hf.LongformerConfig(**_TEXT, attention_window=4, pad_token_id=0)
    return _with(hf.LongformerModel(config), input_ids=_tokens(8), attention_mask=torch.ones(2, 8, dtype=torch.long))


def big_bird() -> Built:
    """Attention to blocks drawn by NumPy."""
    config = hf.BigBirdConfig(**{**_TEXT, "max_position_embeddings": 64}, block_size=4, num_random_blocks=1)
    return _with(hf.BigBirdModel(config), input_ids=_tokens(64))


def reformer() -> Built:
    """Hashed attention and reversible layers, which are autograd functions of their own."""
    config = hf.ReformerConfig(
        vocab_size=50, hidden_size=16, num_attention_heads=2, attention_head_size=8, feed_forward_size=32,
        attn_layers=["local", "lsh"], axial_pos_shape=[4, 4], axial_pos_embds_dim=[8, 8], max_position_embeddings=16,
        local_attn_chunk_length=4, lsh_attn_chunk_length=4, is_decoder=True, num_buckets=4,
    )  # fmt: skip
    return _with(hf.ReformerModel(config), input_ids=_tokens(16))


def fnet() -> Built:
    """Fourier transforms: complex values inside."""
    return _with(hf.FNetModel(hf.FNetConfig(**_without(_TEXT, "num_attention_heads"))), input_ids=_tokens())


def gpt_oss() -> Built:
    config = hf.GptOssConfig(**_TEXT, num_key_value_heads=1, head_dim=8, num_local_experts=4, num_experts_per_tok=2)
    return _with(hf.GptOssForCausalLM(config), input_ids=_tokens())


def mamba2() -> Built:
    config = hf.Mamba2Config(
        vocab_size=50, hidden_size=16, state_size=8, num_hidden_layers=2, head_dim=8, num_heads=4, n_groups=1,
        chunk_size=4,
    )  # fmt: skip
    return _with(hf.Mamba2ForCausalLM(config), input_ids=_tokens(8))


def convnext() -> Built:
    config = hf.ConvNextV2Config(hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 2, 1])
    return _with(hf.ConvNextV2ForImageClassification(config), pixel_values=torch.rand(1, 3, 32, 32))


def vit_mae() -> Built:
    """Patches are hidden at random."""
    config = hf.ViTMAEConfig(
        **_without(_TEXT, "vocab_size", "max_position_embeddings"), image_size=32, patch_size=8,
        decoder_hidden_size=16, decoder_num_hidden_layers=1, decoder_num_attention_heads=2,
        decoder_intermediate_size=32,
    )  # fmt: skip
    return _with(hf.ViTMAEForPreTraining(config), pixel_values=torch.rand(1, 3, 32, 32))


def wav2vec2() -> Built:
    config = hf.Wav2Vec2Config(
        **_without(_TEXT, "max_position_embeddings"), conv_dim=(8, 8), conv_stride=(5, 2), conv_kernel=(10, 3),
        num_feat_extract_layers=2, num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2,
    )  # fmt: skip
    return _with(hf.Wav2Vec2ForCTC(config), input_values=torch.rand(1, 400))


def _without(options: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name not in names}


BUILDERS: dict[str, Builder] = {
    "BERT": bert,
    "GPT-2": gpt2,
    "Llama": llama,
    "T5": t5,
    "ViT": vit,
    "Swin": swin,
    "CLIP": clip,
    "Whisper": whisper,
    "DETR": detr,
    "SegFormer": segformer,
    "Mixtral": mixtral,
    "Mamba": mamba,
    "DeBERTa": deberta,
    "Longformer": longformer,
    "BigBird": big_bird,
    "Reformer": reformer,
    "FNet": fnet,
    "GPT-OSS": gpt_oss,
    "Mamba-2": mamba2,
    "ConvNeXt V2": convnext,
    "ViT-MAE": vit_mae,
    "wav2vec 2.0": wav2vec2,
}
