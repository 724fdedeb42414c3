"""A recipe: how one vector is made of a text; in words, and compared with what a checkpoint's files say."""

from dataclasses import dataclass, replace
from typing import Literal

from bertexplorer.engine import prompt_of, sentence_encoder_of
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.sentence_encoder import MODES, Dense, SentenceEncoder, Truncate

Segments = Literal["first", "second", "none"]  # the segment whose vector each token gets
WORDS = "words"
POOLER = "pooler"
LAST_FOUR = "last four"
ENDS = "ends"
OTHERS = {  # poolings that no file names, in words
    WORDS: "the mean over the tokens between [CLS] and [SEP]",
    POOLER: "the pooler's output ([CLS] through a tanh layer)",
    LAST_FOUR: "the mean over all tokens of the sum of the last four layers",
    ENDS: "the mean over all tokens of the embeddings and the last layer",
}
MIXED = (LAST_FOUR, ENDS, POOLER)  # poolings that have a layer of their own
SCALED, RAW = "scaled to length 1", "not scaled"


@dataclass(frozen=True)
class Reading:
    """How a text becomes the tokens that the encoder reads."""

    max_tokens: int  # special tokens included
    prompt: str = ""  # what stands before the text
    lower_case: bool = False
    special: bool = True  # whether [CLS] and [SEP] frame the text
    segments: Segments = "first"


@dataclass(frozen=True)
class Recipe:
    """How a vector is made of a text."""

    reading: Reading
    pooling: str  # modes of `sentence_encoder.MODES`, joined by "+", or one of OTHERS
    layer: int  # whose states are pooled; 0 is the input of the first layer
    pools_prompt: bool = True  # whether the tokens of the prompt are pooled, too
    dense: int = 0  # how many of the dense layers in the files are applied
    width: int = 0  # numbers of the vector
    scaling: str = ""  # SCALED, RAW, or another sentence about the lengths; "" if it is not known
    precision: str = "fp32"  # in which the encoder computes


def own_recipe(checkpoint: Checkpoint, prompt: str | None = None) -> Recipe:
    """What the checkpoint's files say; the mean of the last layer if they say nothing. *prompt*: the name of a prompt
    in the files, as in `Bert.encode`. Raises ExplorerError for files that cannot be followed."""
    own = sentence_encoder_of(checkpoint, "own")
    reading = Reading(
        max_tokens=checkpoint.sentence_tokenizer.max_tokens,
        prompt=prompt_of(checkpoint, prompt),
        lower_case=own.lower_case,
        segments="first",
    )
    return Recipe(
        reading=reading,
        pooling="+".join(own.modes),
        layer=checkpoint.config.num_layers,
        pools_prompt=own.pools_prompt,
        dense=len(dense_layers(own)),
        width=own_width(checkpoint, own),
        scaling=SCALED if own.normalizes or truncated_after_scaling(own) else RAW,
    )


def dense_layers(own: SentenceEncoder) -> list[Dense]:
    """The dense layers in the files, in their order."""
    return [step for step in own.steps if isinstance(step, Dense)]


def truncated_after_scaling(own: SentenceEncoder) -> bool:
    """Whether the vectors are scaled to length 1 before they are cut, as truncate_dim does it."""
    uncut = tuple(step for step in own.steps if not isinstance(step, Truncate))
    return replace(own, steps=uncut).normalizes


def own_width(checkpoint: Checkpoint, own: SentenceEncoder) -> int:
    """The numbers of a vector that the files ask for."""
    width = checkpoint.config.hidden_size * len(own.modes)
    for step in own.steps:
        if isinstance(step, Dense):
            width = step.linear.out_features
        elif isinstance(step, Truncate):
            width = min(width, step.size)
    return width


def pooling_words(pooling: str) -> str:
    """A pooling in words."""
    if pooling in OTHERS:
        return OTHERS[pooling]
    return " and ".join(MODES[mode][0] for mode in pooling.split("+"))


def describe(recipe: Recipe, layers: int, dense: int) -> str:
    """*recipe* in words. *layers*: of the encoder; *dense*: dense layers in its files."""
    return ", ".join(parts_of(recipe, layers, dense))


def describe_beside(recipe: Recipe, own: Recipe, layers: int, dense: int) -> str:
    """*recipe* in words, without what it shares with *own*; "" if that is all."""
    shared = parts_of(own, layers, dense)
    parts = [part for part in parts_of(recipe, layers, dense) if part not in shared]
    if own.layer != recipe.layer == layers:
        parts.append("of the last layer")
    if own.reading.prompt and not recipe.reading.prompt:
        parts.append("without a prompt")
    return ", ".join(parts)


def parts_of(recipe: Recipe, layers: int, dense: int) -> list[str]:
    """The parts of *recipe* in words, without those that are as usual."""
    parts = [pooling_words(recipe.pooling)]
    if recipe.layer != layers and recipe.pooling not in MIXED:
        parts.append(f"of layer {recipe.layer}" if recipe.layer else "of the embeddings")
    parts += parts_of_reading(recipe.reading, recipe.pools_prompt)
    if recipe.dense < dense:
        parts.append(f"{recipe.dense} of {dense} dense layers")
    elif dense:
        parts.append("the dense layers")
    if recipe.width:
        parts.append(f"{recipe.width:,} numbers")
    if recipe.scaling:
        parts.append(recipe.scaling)
    if recipe.precision != "fp32":
        parts.append(f"computed in {recipe.precision}")
    return parts


def parts_of_reading(reading: Reading, pools_prompt: bool) -> list[str]:
    """The parts of *reading* in words, without those that are as usual."""
    parts = []
    if reading.prompt:
        outside = "" if pools_prompt else ", which is not pooled"
        parts.append(f"with {quoted(reading.prompt)} before the text{outside}")
    if reading.lower_case:
        parts.append("in lower case")
    if not reading.special:
        parts.append("without [CLS] and [SEP]")
    if reading.segments == "second":
        parts.append("in the second segment")
    elif reading.segments == "none":
        parts.append("without segment vectors")
    parts.append(f"at most {reading.max_tokens:,} tokens")
    return parts


def quoted(text: str) -> str:
    """*text* in quotation marks that keep its spaces visible."""
    return f"“{text}”"


def differences(found: Recipe, own: Recipe, layers: int, from_files: bool) -> list[str]:
    """What *found* does otherwise than *own*, a sentence for each step, in the order in which a text meets them; "they"
    are the vectors. *layers*: how many the encoder has. *from_files*: whether the files have a sentence encoder; else
    its place is taken by the mean, without scaling."""
    sentences = [*read_otherwise(found.reading, own.reading)]
    if found.reading.prompt and found.pools_prompt != own.pools_prompt:
        if found.pools_prompt:
            sentences.append("The tokens of the prompt are pooled, too; the files leave them out.")
        else:
            sentences.append("The tokens of the prompt are left out of the pooling.")
    if found.pooling != own.pooling:
        instead_of = "the files say" if from_files else "the files say nothing, so it would be"
        sentences.append(f"They take {pooling_words(found.pooling)}; {instead_of} {pooling_words(own.pooling)}.")
    if found.layer != own.layer and found.pooling not in MIXED:
        where = f"layer {found.layer} of {layers}" if found.layer else "the embeddings, before the first layer"
        sentences.append(f"They come from {where}, not from the last layer.")
    if found.dense < own.dense and own.dense == 1:
        sentences.append("The dense layer of the files is skipped.")
    elif found.dense < own.dense:
        sentences.append(f"Of the {own.dense} dense layers of the files, {found.dense} are applied.")
    same_steps = found.dense == own.dense and found.pooling == own.pooling  # else another width is no cut
    if found.width < own.width:
        sentences.append(f"They are cut to their first {found.width:,} of {own.width:,} numbers.")
    elif found.width > own.width and same_steps:
        sentences.append(f"They have {found.width:,} numbers; the files cut them to {own.width:,}.")
    if from_files:
        sentences += scaled_otherwise(found.scaling, own.scaling)
    return sentences


def scaled_otherwise(found: str, own: str) -> list[str]:
    """What differs in the lengths of the vectors."""
    if not found or found == own:
        return []
    if found == RAW:
        return ["They are not scaled to length 1, as the files say."]
    if found == SCALED:
        return ["They are scaled to length 1; the files do not say so."]
    return [f"Their lengths differ: {found}."]


def say_prompt(found: str, own: str) -> str:
    """What differs in the prompt before a text."""
    if not found:
        return f"The prompt {quoted(own)} is missing."
    if not own:
        return f"The prompt {quoted(found)} stands before each text."
    return f"The prompt is {quoted(found)}; it should be {quoted(own)}."


def read_otherwise(found: Reading, own: Reading) -> list[str]:
    """What differs in how a text is read."""
    sentences = []
    if found.prompt != own.prompt:
        sentences.append(say_prompt(found.prompt, own.prompt))
    if found.lower_case and not own.lower_case:
        sentences.append("The texts are read in lower case.")
    elif own.lower_case and not found.lower_case:
        sentences.append("The texts are not read in lower case, as the files say.")
    if found.max_tokens < own.max_tokens:
        sentences.append(f"Texts are cut at {found.max_tokens:,} tokens; the files say {own.max_tokens:,}.")
    elif found.max_tokens > own.max_tokens:
        sentences.append(f"Texts are read up to {found.max_tokens:,} tokens; the files cut them at {own.max_tokens:,}.")
    if found.special != own.special:
        sentences.append("The tokens [CLS] and [SEP] are missing.")
    if found.segments == "none":
        sentences.append("The segment vector (token type 0) is not added to the tokens.")
    elif found.segments == "second":
        sentences.append("All tokens have token type 1 instead of 0.")
    return sentences
