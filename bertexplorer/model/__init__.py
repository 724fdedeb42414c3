"""The encoder, its heads, its tokenizer, and checkpoints read and written: torch, no page.

config.py            the numbers that make an encoder, in one vocabulary for every family
encoder.py           the whole encoder, top down in the order data flows: start reading here
positions.py         rotary angles and relative positions: where tokens stand, if their embeddings do not say it
attention_mask.py    which token may look at which: padding, direction and window in one mask
forward.py           what a pass leaves behind, and the changes that can be made to it while it runs
heads.py             the heads of pretraining and of fine-tuning: vectors -> the logits of one task
crf.py               linear-chain CRF over tags: log Z, best path, marginals
text.py              Tokenizer: text (or a pair) -> Encoding, and pieces back to characters and words
vocabulary.py        the tokenizer files of a folder, read as transformers reads them
scheduler.py         which caller computes when, and what is computed together
cache.py             a cache of expensive values, limited to a number of bytes
checkpoint.py        an encoder with the heads in its file; reading config.json and the model card
tensors.py           the tensors of a folder: safetensors only, checked before they are read
weight_map.py        maps our tensor names to the published ones and back, by a family's table
initialise.py        fresh weights: a whole untrained checkpoint, or the heads that one lacks
precision.py         what `auto` means on this machine, and which precision was used
onnx.py              the encoder and one head as ONNX
prepacked_linear.py  linear layers whose bf16 weights are packed once in oneDNN's order
load.py              a folder -> Checkpoint, strictly
save.py              Checkpoint -> a folder that transformers loads, tensor for tensor
"""
