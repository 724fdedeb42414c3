"""The encoder, its heads, its tokenizer, and checkpoints read and written: torch, no page.

config.py            the numbers that make an encoder, in one vocabulary for every family
encoder.py           the whole encoder, top down in the order data flows: start reading here
attention_mask.py    who may look at whom: padding, direction and window in one mask
forward.py           what a pass leaves behind, and the changes that can be made to it while it runs
heads.py             the heads of pretraining and of fine-tuning: vectors -> the logits of one task
text.py              Tokenizer: text (or a pair) -> Encoding, and pieces back to characters and words
vocabulary.py        the tokenizer files of a folder, read as transformers reads them
scheduler.py         who computes when, and what is computed together
cache.py             what is dear to make, kept within a number of bytes
checkpoint.py        an encoder with the heads its file holds; reading config.json and the model card
tensors.py           the tensors of a folder: safetensors only, checked before they are read
weight_map.py        tensor names, from ours to the published ones and back, by a family's table
initialise.py        fresh weights: a whole checkpoint that has learnt nothing, or the heads that one lacks
precision.py         what `auto` means on this machine, and what was used in the end
onnx.py              the encoder and one head as ONNX
prepacked_linear.py  linear layers whose bf16 weights are put into oneDNN's order once
load.py              a folder -> Checkpoint, strictly
save.py              Checkpoint -> a folder that transformers loads, tensor for tensor
"""
