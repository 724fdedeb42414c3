"""The encoder, its heads, its tokenizer, and checkpoints read and written: torch, no page.

config.py            the hyperparameters of an encoder, with the same names for every family
encoder.py           the whole encoder, top down in the order data flows: start reading here
positions.py         rotary angles and relative positions, in families without absolute ones
attention_mask.py    which token may look at which: padding, direction and window in one mask
forward.py           the result of a pass, and interventions in it
heads.py             the heads of pretraining and of fine-tuning: vectors -> the logits of one task
crf.py               linear-chain CRF over tags: log Z, best path, marginals
text.py              Tokenizer: text (or a pair) -> Encoding, and pieces back to characters and words
vocabulary.py        the tokenizer files of a folder, read like transformers reads them
special_tokens.py    which tokens are no words, and their roles, as the tokenizer files say
scheduler.py         when each caller computes, and which calls share a batch
cache.py             a cache of expensive values, limited to a number of bytes
sentence_encoder.py  how a checkpoint's files say to make one vector of a text: pooling, dense, normalisation
checkpoint.py        an encoder with the heads in its file; reading config.json and the model card
tensors.py           the tensors of a folder: safetensors only, checked before they are read
earlier_names.py     checkpoints published before transformers had their family: configs and tensors renamed
weight_map.py        maps our tensor names to the published ones and back, by a family's table
initialise.py        fresh weights: a whole untrained checkpoint, or the heads that one lacks
precision.py         the precision that `auto` selects on this machine
onnx.py              the encoder and one head as ONNX
prepacked_linear.py  linear layers whose weights are packed once, in the order and precision of the quickest library
adapter.py           adapters in PEFT's format: small matrices that are added to another checkpoint
load.py              a folder -> Checkpoint, strictly
save.py              Checkpoint -> a folder that transformers loads, tensor for tensor
"""
