"""The analyses as functions, and as methods of a Bert. Written by docs/signatures.py from their Options."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from bertexplorer.python.bert import Bert
from bertexplorer.python.result import Result

Words = str | Iterable[str | tuple[int, int, int]]

def forward_pass(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), layer: int = 0) -> Result:
    """The whole model on one text, from its pieces through every layer to the answer.
    One pass over *text*, shown as a whole. It ends in what the checkpoint has: the words at the first mask (without
    one, at the picked token), the decision of a fine-tuned head, whether B follows A, or the vectors themselves.
    The answer after each layer is that of `layers`; the words that a feed-forward half raises are the MLM head's
    probabilities after it less those before it, in the manner of Geva et al. (2022). Of more than WINDOW tokens those
    around the followed one are shown; the attention to all others is added up.
    Raises ExplorerError for a layer that does not exist, and for a text that cannot be read.
        forward_pass.run(checkpoint, "The capital of France is [MASK].").answers[0].token
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        layer: Open layer, 0 to 100 (0: the one whose head connects the followed token most)
    """
def fill_mask(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), top: int = 10, words: str | Sequence[str] = '') -> Result:
    """The checkpoint's predictions for each mask, and their entropy.
    Answers for every mask of *text*, each given all the rest. Raises ExplorerError without a mask or an MLM head.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        top: Answers, 1 to 100
        words: Look up words (separated by commas)
    """
def decoding(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), beam_width: int = 5) -> Result:
    """Several masks filled four ways, which shows why independent answers must not be multiplied.
    Fill the masks of *text* four ways: independently, left to right, the most certain first, and by beam
    search. Raises ExplorerError without a mask, and for more than 20.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        beam_width: Beam width, 1 to 20
    """
def pseudo_likelihood(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), hide: Literal['the piece', 'the rest of its word too'] = 'the piece', most: int = 128) -> Result:
    """How likely each token is given all the others, and so how likely the sentence is.
    Hide each token in turn and read its probability. Words hidden by a click count as they were typed. Raises
    ExplorerError if nothing can be scored.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        hide: Hide each time (the second keeps long words from vouching for themselves)
        most: Score at most, 1 to 512 (tokens, from the left; each takes one pass)
    """
def contrast(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), other: str = '', named: int = 8) -> Result:
    """One mask in two sentences, compared over the whole vocabulary.
    Compare the first mask of *text* with that of the other sentence: *options.other*, or else the second text, and
    then each is read alone. Raises ExplorerError if there is no other sentence, or if one has no mask.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        other: Other sentence (with [MASK] in it; or type it as the second sentence)
        named: Words named on each side, 1 to 50
    """
def left_context(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), top: int = 8) -> Result:
    """The same mask answered with both sides in view, and with the right side hidden from the encoder.
    Answer the first mask of *text* twice. Raises ExplorerError without a mask or an MLM head.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        top: Answers, 1 to 100
    """
def template(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), words: str | Sequence[str] = '', top: int = 5) -> Result:
    """One sentence with alternatives, {doctor|nurse}, answered for every way to choose among them.
    Answer the first mask of every filling of *text*. Raises ExplorerError without a slot or a mask, or for more
    than 64 fillings.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        words: Compare words (separated by commas; empty: the likeliest ones)
        top: Likeliest words, 1 to 20
    """
def next_sentence(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), candidates: str | Sequence[str] = '') -> Result:
    """How sure BERT is that one text follows another, both ways round and among other candidates.
    Score (first, second), (second, first), and first with every candidate. What is hidden stays hidden; candidates
    have nothing hidden. Raises ExplorerError without an NSP head, without a second text, or for more than
    50 candidates.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        candidates: Other second sentences (up to 50, with | between)
    """
def sentence_matrix(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = ()) -> Result:
    """A paragraph in sentences, and for every two of them how sure BERT is that one follows the other.
    Score every ordered pair of the sentences of *text*, those of a second text after those of the first. What is
    hidden stays hidden. Raises ExplorerError without an NSP head, or for fewer than two sentences.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
    """
def sentence_similarity(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), pooling: Literal['own', 'mean', 'CLS', 'max', 'last four summed'] = 'own', first_prompt: str = '', second_prompt: str = '', terms: Literal['last layer', 'input words'] = 'last layer', others: str = '', merge: bool = True, lines: Sequence[str] | str | Path | None = None) -> Result:
    """The number that the checkpoint's own pipeline gives, and which words bring it about.
    The similarity of the two texts of a pair, and where it comes from. *lines*: unrelated ones, whose pairs show
    what chance gives; the built-in sentences if there are none.
    Raises ExplorerError without a second text, for an unknown prompt, if the checkpoint's files cannot be followed, and
    for a text too long to take apart.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        pooling: A text's vector (own: as the checkpoint's files say, else the mean)
        first_prompt: Prompt of the first text (a name in the checkpoint's files, or none)
        second_prompt: Prompt of the second text (empty: as the files say)
        terms: Parts (last layer: exact, but its tokens have read each other; input words: up to 64 tokens)
        others: Other texts (up to 18, with | between; all are compared with each other)
        merge: Merge pieces (a word gets the sum of its pieces)
        lines: texts, or a CSV, TSV or TXT file (whose pairs show what chance gives; empty: built-in)
    """
def term_weights(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), top: int = 12) -> Result:
    """The words by which a text would be found, read from the MLM head as SPLADE does.
    The terms of *text*; of two texts, each read alone, also those that they share. Raises ExplorerError without an
    MLM head.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        top: Words, 1 to 50 (of each kind)
    """
def late_interaction(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), layer: int = -1, special: Literal['left out', 'included'] = 'left out', others: str = '') -> Result:
    """Each token of a query finds its best match in a passage, and the matches are added up.
    MaxSim of the first text, the query, with the second, the passage; each is read alone. Raises ExplorerError
    without a second text, for an unknown layer, for texts that are too long, and for one without tokens that count.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        layer: Layer, -1 to 48 (0: the input of the first; -1: the last)
        special: [CLS] and [SEP] (ColBERT includes those of the query)
        others: Other passages (up to 50, with | between; ranked with the second text)
    """
def tokenization(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = ()) -> Result:
    """How the text is cut into pieces, and the vectors of each piece that add up to the input.
    Cut *text* and look up its vectors; no layer is run and no head is needed. Raises ExplorerError if nothing is
    left to read.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
    """
def input_vectors(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), clip: int = 99) -> Result:
    """The word, position and segment vectors of one token, number by number, and how they add up.
    The vectors that add up for the first picked token (without one, the longest word), in the checkpoint's
    precision, their sum, and the sum after LayerNorm (and after the projection, in ELECTRA).
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        clip: Colour range, 90 to 100 (percentile of values in the strongest colour)
    """
def nearest_pieces(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), count: int = 10, order: Literal['cosine', 'dot product'] = 'cosine') -> Result:
    """Which pieces of the vocabulary have the vectors closest to a token's own, before any context.
    Look up the picked tokens (without one, the longest word) in the table of word vectors.
    Hidden tokens count as what they were: the table knows no context. Special tokens and rows without a piece are not
    listed. Raises ExplorerError for a text that cannot be read.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        count: Neighbours, 1 to 50
        order: Nearest by (the dot product favours long vectors)
    """
def attention(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), show: Literal['grid', 'head', 'arcs'] = 'grid', layer: int = 0, head: int = 0, heads: str | Sequence[str] = '', combine: Literal['mean', 'max'] = 'mean', merge: bool = False, special: Literal['shown', 'hidden', 'discounted'] = 'shown', direction: Literal['all', 'A to B', 'B to A'] = 'all', measure: Literal['weight', 'norm'] = 'weight') -> Result:
    """Which token looks at which, in one head, in several together, or in all of them side by side.
    Attention weights (rows sum to 1), or norms ‖α f(x)‖ (Kobayashi et al., 2020), between the tokens of *text*.
    Words are merged from their pieces as Clark et al. (2019) do: weights to a word are added, weights from it averaged.
    Norms are added likewise, which bounds the norm of the whole word from above. Hidden tokens are cut out of the rows
    and of the columns. Raises ExplorerError for an unknown layer or head, a direction without a second text,
    and a text too long to hold all weights.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        show: Show (a click in the grid opens that head)
        layer: Layer, 0 to 100 (0: all layers)
        head: Head, 0 to 100 (0: all heads)
        heads: Or these heads (such as 5·3, 5.7; empty: the layer and head chosen)
        combine: Several heads (their mean, or the largest)
        merge: Pieces to words (weights to a word are added, weights from it averaged)
        special: [CLS] and [SEP] (discounted: left out, and the rest scaled up to 100 %)
        direction: Sentences (A to B: A looks at B)
        measure: Measure (norm: length of what is taken in (Kobayashi et al., 2020))
    """
def query_key(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), layer: int = 0, head: int = 0) -> Result:
    """The products of single dimensions that add up to the attention score of one token in one head.
    The products q_i k_ij of the query of one token with the key of each token j, dimension by dimension i. They add
    up to the attention score before the scale 1/√k and the softmax (Vaswani et al., 2017, section 3.2.1). Query and key
    include their biases and, in ModernBERT, the rotary positions. In MPNet and DeBERTa the distance of the two tokens
    adds to the score.
    The token is the first that was picked, else the first mask, else the first that is not special. Without a layer and
    a head it is the head with the strongest link from this token to another word, the first if there is none. Raises
    ExplorerError for a layer or a head that this checkpoint does not have, and for a text that cannot be read.
        query_key.run(checkpoint, "The cat sat.", options=Options(layer=2, head=1)).products  # shape (t, k)
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        layer: Layer, 0 to 100 (0: where the token looks at another word most)
        head: Head, 0 to 100 (0: the one that looks at another word most)
    """
def attention_flow(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), method: Literal['rollout', 'flow', 'raw'] = 'rollout', layer: int = 0, special: Literal['shown', 'left out'] = 'shown') -> Result:
    """How much of each input token can reach a token of a later layer, through the layers in between.
    Attention averaged over the heads of each layer, followed back to the input; without [CLS] and [SEP], if so
    wanted, as if nothing could pass through them. Raises ExplorerError for a layer that does not exist and, for flow,
    beyond 64 tokens or 8 picked ones.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        method: Method (raw: that layer's own attention)
        layer: Layer, 0 to 100 (the one whose bars are drawn; 0: the last)
        special: [CLS] and [SEP] (left out: in each layer the rest is scaled up to 100 %)
    """
def head_roles(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), show: Literal['roles', 'gallery', 'map'] = 'roles', pattern: Literal['main role', 'previous', 'next', 'same', '[SEP]', '[CLS]', 'punctuation', 'distance', 'entropy'] = 'main role', on: Literal['sample', 'this text'] = 'sample') -> Result:
    """What every head looks at, on plain sentences or on this text; which heads follow grammar, and which behave alike.
    Shares of attention by Clark et al. (2019), section 3: summed over the tokens that fit a pattern, averaged over
    all tokens that look, then over the texts. Where a token fits several patterns ([SEP] before a [CLS]) it counts for
    each. *text* is read only for options.on = "this text". Raises ExplorerError for a text that cannot be read.
    A head has a role among words if ordinary tokens give at least a fifth of their attention to ordinary tokens, and of
    that at least CLEAR, and twice what random targets would get, to the role's pattern; or, on the sample, if it beats
    the best fixed distance by MARGIN in a relation of `head_relations`, counted among words as in that paper's section
    4.2. Else it may rest on [CLS] or [SEP]. The gallery has the best head for each.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        show: Show (gallery: the best head for each pattern; map: heads that behave alike are close together)
        pattern: Pattern (main role: what the attention goes to, special tokens left out)
        on: Measured on (sample: 20 plain sentences)
    """
def switchboard(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), off: str | Sequence[str] = '', neurons: str = '', how: Literal['zero', 'mean', 'patch'] = 'zero', source: str = '', word: str = '', controls: int = 10, target: Literal['answer', 'mask', 'next sentence', 'label', 'tag', 'span start', 'span end', 'score'] = 'answer', tagged_word: str = '') -> Result:
    """Heads and neurons switched off, or heads patched, and how that changes the answer.
    Ablate heads of *text*: the target is the word at the first mask, else what a fine-tuned head decides, else that
    B is next.
    Each head's output (before it is mixed with the others) is replaced by zeros, by its mean over plain sentences, or
    by its output at the same positions of another sentence (Michel et al., 2019; Wang et al., 2023 for the mean and the
    patch). Neurons of the feed-forward halves can be off too, at every token. For a regression the score changes, for a
    run that compares two texts their cosine. Raises ExplorerError without a mask, a fine-tuned head or a pair, for an
    unknown head or neuron, for a word of several pieces, for a sentence to patch from of another length, and for a
    patch if two texts are encoded alone.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        off: Heads off (such as 5·3, 2·7; or press cells of the map)
        neurons: Neurons off (such as 5·812; the view Neurons finds them)
        how: Instead of the head (zeros, its mean over plain sentences, or its output for another sentence)
        source: Sentence to patch from (with as many tokens as yours)
        word: Word (or label or tag; empty: the first choice)
        controls: Random controls, 0 to 50 (sets of as many other heads and neurons)
        target: Measure (answer: the first mask if there is one, else the fine-tuned head, else whether B follows A)
        tagged_word: Tagged word (if a tag is explained; empty: the picked word, else the first that is not O, or seems replaced)
    """
def bertviz(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), kind: Literal['head', 'model', 'neuron'] = 'head', layers: str = '', special: Literal['shown', 'left out'] = 'shown') -> Result:
    """The data of its head view, model view and neuron view (Vig, 2019).
    Attention of the chosen layers; for the neuron view the query and key vectors too. Raises ExplorerError for an
    unknown layer, and where a browser would freeze: each line of BertViz is an element of the page.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        kind: View (head: lines of one layer; model: all heads; neuron: queries and keys)
        layers: Layers (such as 1-4 or 2, 5; empty: all)
        special: [CLS] and [SEP] (left out: the rest is scaled up to 100 %)
    """
def word_in_context(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), word: str = '', sentences: str | Sequence[str] = '', sense: str = '', layer: int = -1, baseline: bool = True) -> Result:
    """How alike the vectors of one word are in different sentences, layer by layer.
    Compare every two occurrences of the word; the vectors of its pieces are averaged. A hidden occurrence has the
    vector of [MASK] there. Raises ExplorerError for fewer than two occurrences and for an unknown layer.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        word: Word (empty: the picked one; commas between several)
        sentences: Other sentences (one per line, or with | between; a sense may come first: river: We sat …)
        sense: Sense of the text (its label, if the other sentences have labels)
        layer: Layer, -1 to 48 (0: the input of the first; -1: the last)
        baseline: Subtract random pairs (the mean cosine of two random words)
    """
def word_path(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), layer: int = -1, word: str = '', sentences: str | Sequence[str] = '', plane: Literal['all words', 'these words', 'their differences'] = 'all words') -> Result:
    """The path of a word's vector through the layers, seen in one fixed plane.
    Follow each occurrence of the word, the vectors of its pieces averaged. The plane is that of the first two
    principal components of all vectors of all layers, of the words' own, or of their differences: what each has beside
    the mean of the words in its layer, so that what all do alike is left out. Raises ExplorerError if there is no
    occurrence, only one to take differences of, and for an unknown layer.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        layer: Layer, -1 to 48 (0: the input of the first; -1: the last)
        word: Word (empty: the picked one; commas between several)
        sentences: Other sentences (one per line, or with | between)
        plane: Plane (these words: where they move most; their differences: where they part from each other)
    """
def embedding_map(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), unit: Literal['tokens', 'sentences'] = 'tokens', layer: int = -1, method: Literal['PCA', 't-SNE', 'UMAP'] = 'PCA', pooling: Literal['own', 'mean', 'CLS', 'max', 'last four summed'] = 'own', dimensions: Literal['2-D', '3-D'] = '2-D', colour: Literal['word', 'position', 'label'] = 'word', neighbours: int = 5, point: int = -1, lines: Sequence[str] | str | Path | None = None) -> Result:
    """Tokens or sentences laid out so that what is near in the checkpoint's vectors is near on the page.
    Lay out the tokens or sentences of *lines* if there are any, else those of *text* (sentences: among the built-in
    ones). Raises ExplorerError for fewer than three points, an unknown layer or point, or without UMAP.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        unit: What is a point
        layer: Layer, -1 to 48 (0: the input of the first; -1: the last)
        method: Method (t-SNE of 10,000 points takes a minute; UMAP needs umap-learn)
        pooling: A sentence's vector (own: as the checkpoint's files say, else the mean; last four summed: for tokens, too)
        dimensions: Dimensions
        colour: Colour by
        neighbours: Neighbours, 1 to 20
        point: Point, -1 to 10000 (-1: the picked token)
        lines: texts, or a CSV, TSV or TXT file (empty: the text above)
    """
def search(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), top: int = 10, layer: int = -1, pooling: Literal['own', 'mean', 'CLS', 'max', 'last four summed'] = 'own', prompt: str = '', line_prompt: str = '', lines: Sequence[str] | str | Path | None = None) -> Result:
    """Which lines mean something like the text, by the cosine of their vectors.
    Find the lines nearest to *text* (a pair is one query) among *lines*, or the built-in ones where there are none.
    The vectors of *lines* are stored in the *index*, under `collection`. Built-in lines, and all lines if there is no
    index, are compared one by one. Raises ExplorerError for an unknown layer, for more than 10,000 lines, and if the
    index cannot be reached.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        top: Results, 1 to 50
        layer: Layer, -1 to 48 (0: the input of the first; -1: the last)
        pooling: A line's vector (own: as the checkpoint's files say, else the mean)
        prompt: Prompt of your text (a name in the checkpoint's files, or none)
        line_prompt: Prompt of the lines (empty: as the files say)
        lines: texts, or a CSV, TSV or TXT file (empty: the built-in sentences)
    """
def layers(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), words: str | Sequence[str] = '', top: int = 3, lens: Literal['raw', 'tuned'] = 'raw', target: Literal['answer', 'mask', 'label', 'tag', 'span start', 'span end', 'score'] = 'answer', tagged_word: str = '') -> Result:
    """The prediction of the checkpoint's own head after each layer, and the layer at which it settles.
    Apply a head, which was trained on the last layer only, after every layer: the MLM head at the first mask of
    *text*, or a fine-tuned head. The result has the score of a regression, or the cosine of two texts.
    In the families that normalise after each block (all but ModernBERT) the head takes a layer's output unchanged. In
    ModernBERT the final LayerNorm belongs to the last layer alone; it is applied to the earlier ones too, as the head
    was trained on normalised vectors. The tuned lens (Belrose et al., 2023) applies an affine map before that, one for
    each layer, fitted once for a checkpoint on built-in English sentences.
    Raises ExplorerError without a mask or a fine-tuned head, without the head that answers, for the tuned lens of a
    fine-tuned head, and for a word to follow that is not a single piece or not a label.
        layers.run(checkpoint, "Paris is the [MASK] of France.", options=Options(lens="tuned")).settled
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        words: Follow words (or labels, separated by commas; empty: the final answers)
        top: Answers per layer, 1 to 10 (five are drawn, all are exported)
        lens: Lens (tuned: each layer in the last one's terms (Belrose et al., 2023), fitted at first use)
        target: Read (answer: the first mask if there is one, else the fine-tuned head)
        tagged_word: Tagged word (if a tag is explained; empty: the picked word, else the first that is not O, or seems replaced)
    """
def neurons(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), layer: int = 0, neuron: int = 0, top: int = 10, word: str = '', target: Literal['answer', 'mask', 'next sentence', 'label', 'tag', 'span start', 'span end', 'score'] = 'answer', tagged_word: str = '', lines: Sequence[str] | str | Path | None = None) -> Result:
    """What the feed-forward half of a layer writes at a token, neuron by neuron, and what the answer loses without them.
    The neurons of a layer at the picked token, else at the one that the answer is read from. *lines*: of the
    uploaded file, in place of the built-in sentences.
    Switched off, a neuron is 0 at every token. Which neurons count is measured: those that a gradient ranks first (its
    activation times the gradient, over all tokens) and those of each layer that write the longest vectors are switched
    off one by one; the others follow in the order of the gradient. Raises ExplorerError for a layer or a neuron that
    does not exist, for a text of more than MAX_TOKENS, and for more than MAX_LINES lines.
        neurons.run(checkpoint, "The capital of France is [MASK].").opened.words
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        layer: Layer, 0 to 100 (0: the last)
        neuron: Neuron, 0 to 100000 (its number; 0: of those listed, the one that counts most)
        top: Neurons listed, 1 to 30
        word: Answer (a single piece, a label or a tag; empty: the first choice)
        target: Measure (answer: the first mask if there is one, else the fine-tuned head, else whether B follows A)
        tagged_word: Tagged word (if a tag is explained; empty: the picked word, else the first that is not O, or seems replaced)
        lines: texts, or a CSV, TSV or TXT file (empty: the built-in sentences)
    """
def answer(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), top: int = 10, longest: int = 30, others: str = '') -> Result:
    """The prediction of a fine-tuned head for a text: its label and the words that it rests on, a tag for each word, or a span.
    The answer of the fine-tuned head; of ELECTRA's discriminator, which tokens were replaced. In question answering
    the first text is the question, the second the passage. A run that learned to compare two texts answers with the
    cosine of their vectors, each read alone.
    Probabilities are a softmax over the labels; a sigmoid of each where a text may have several; over all paths of tags
    where the run has a CRF. Raises ExplorerError without a fine-tuned head, and for a question without a passage.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        top: Answers, 1 to 100 (labels, tags of a word, or spans)
        longest: Longest span, 1 to 200 (tokens of an answer in a passage)
        others: Other second texts (up to 50, with | between; ranked with the second text)
    """
def saliency(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), method: Literal['integrated gradients', 'gradient x input', 'occlusion', 'LIME', 'SHAP', 'attention', 'rollout', 'all'] = 'integrated gradients', target: Literal['answer', 'mask', 'next sentence', 'label', 'tag', 'span start', 'span end', 'score'] = 'answer', word: str = '', baseline: Literal['[MASK]', '[PAD]', 'zero'] = '[MASK]', steps: int = 32, samples: int = 200, merge: bool = True, tagged_word: str = '') -> Result:
    """Which tokens a prediction depends on, by gradients, by hiding words and, for comparison, by attention.
    Scores by the chosen method. Raises ExplorerError without a mask, a fine-tuned head or a pair, without the head
    that answers, for an unknown answer and, in a mask, for an answer of several pieces.
    For a mask or a label the methods explain the log-probability, not the logit: a change that raises all logits alike
    changes no prediction. So every method, and the referee, reads the same number.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        method: Method (all: side by side)
        target: Explain (answer: the first mask if there is one, else the fine-tuned head, else whether B follows A)
        word: Answer to explain (a single piece, a label or a tag; empty: the first choice)
        baseline: Baseline (what integrated gradients start from)
        steps: Steps, 4 to 256 (of integrated gradients)
        samples: Samples, 50 to 1000 (texts that LIME and SHAP read)
        merge: Merge pieces (a word is hidden as a whole, or gets the sum of its pieces)
        tagged_word: Tagged word (if a tag is explained; empty: the picked word, else the first that is not O, or seems replaced)
    """
def referee(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), target: Literal['answer', 'mask', 'next sentence', 'label', 'tag', 'span start', 'span end', 'score'] = 'answer', word: str = '', orders: int = 10, points: int = 10, tagged_word: str = '') -> Result:
    """The faithfulness of each saliency method: words are hidden in its order, and in random orders.
    Curves of all methods, with their default settings; scores instead of probabilities if the answer is a score.
    Raises ExplorerError as saliency does, for two texts that are compared, and where fewer than two words can be
    hidden.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        target: Explain (answer: the first mask if there is one, else the fine-tuned head, else whether B follows A)
        word: Answer to explain (a single piece, a label or a tag; empty: the first choice)
        orders: Random orders, 3 to 50
        points: Steps of a curve, 4 to 64 (fewer where the text has fewer words)
        tagged_word: Tagged word (if a tag is explained; empty: the picked word, else the first that is not O, or seems replaced)
    """
def masking(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), roll: int = 1, chosen: float = 0.15, masked: float = 0.8, random: float = 0.1, whole_words: bool = False) -> Result:
    """Which tokens of a text pretraining would mask, what would replace them, and how often.
    Roll the dice of pretraining over *text*, with hidden words shown. No layer is run. Raises ExplorerError if
    nothing is left to read, or the shares are above 1.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        roll: Roll, 1 to 1000 (another number draws again)
        chosen: Chosen, 0.01 to 0.9 (share of the tokens to predict)
        masked: [MASK], 0 to 1 (share of the chosen that becomes [MASK])
        random: Random, 0 to 1 (share of the chosen that becomes a random piece)
        whole_words: Whole words (all pieces of a word are chosen, or none)
    """
def sentence_pairs(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), not_next: float = 0.5, same_document: float = 0.0, roll: int = 1) -> Result:
    """The true and random next sentences that pretraining would draw, and what the head says about them.
    Draw up to ten different pairs from the sentences of *text*, those of a second text after the first's; a blank
    line ends a document, and another document is one of ten that are built in. Raises ExplorerError where no sentence
    follows another.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        not_next: Wrong pairs, 0 to 1 (share of pairs whose B does not follow A)
        same_document: Of these, same document, 0 to 1 (else B is from another one)
        roll: Roll, 1 to 1000 (another number draws again)
    """
def suite(suite: Literal['everyday', 'agreement', 'role reversal', 'negation', 'occupations', 'next sentences'] = 'everyday', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', scoring: Literal['the whole sentence', 'the differing piece'] = 'the whole sentence', most: int = 200, rows: Sequence[Mapping[str, Any]] | str | Path | None = None) -> Result:
    """An evaluation on many cases, as the share that the checkpoint gets right, with its confidence interval.
    Score each of *rows*, or of the built-in suite. *text* is not read.
    The columns of the rows determine the kind of suite, see `FORMATS` in suite_cases. Raises ExplorerError for rows
    that are not a suite, if none can be scored, and if the checkpoint lacks the head that is needed.
    Args:
        suite: Suite (built in; or upload rows of your own)
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        scoring: Score pairs by (the second needs pairs that differ in one piece)
        most: Cases at most, 1 to 1000 (the same number of each category)
        rows: dictionaries, or a CSV, TSV or JSONL file (empty: the built-in suite)
    """
def probe(task: Literal['part of speech', 'number', 'tense', 'length', 'word order'] = 'word order', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', seeds: int = 3, most: int = 300, rows: Sequence[Mapping[str, Any]] | str | Path | None = None) -> Result:
    """From which layer a linear classifier reads a property of words or sentences, compared with a control task.
    Probe every layer for the labels of *rows*, or of the built-in task. *text* is not read.
    The vector of a word is the mean over its pieces, that of a sentence the mean over all its tokens. Raises
    ExplorerError for rows that cannot be probed: other columns, fewer than 20 or more than 10,000 rows, one label
    only, a label that occurs once or in one document.
    Args:
        task: Task (built in; or upload rows of your own)
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        seeds: Seeds, 1 to 10 (random splits, each with its own control labels)
        most: Rows at most, 20 to 1000 (the same number of each label)
        rows: dictionaries, or a CSV, TSV or JSONL file (empty: the built-in task)
    """
def counterfactuals(text: str, pair: str = '', *, checkpoint: str | Path | Bert = 'mini', precision: str = 'auto', mask: Words = (), pick: Words = (), method: Literal['gradient', 'fill-mask', 'reduction'] = 'gradient', target: Literal['answer', 'mask', 'next sentence', 'label', 'tag', 'span start', 'span end', 'score'] = 'answer', word: str = '', edits: int = 2, candidates: int | Sequence[str] = 10, function_words: bool = False, tagged_word: str = '') -> Result:
    """The fewest words whose replacement changes the answer, or the shortest text that keeps it.
    Edits that change the answer, each verified by a pass, or the steps of a reduction.
    "gradient" proposes words by HotFlip's first-order estimate (Ebrahimi et al., 2018), "fill-mask" those that the MLM
    head finds likely where the word is hidden; a beam search adds a word while no edit changes the answer. "reduction"
    removes the word that matters least as long as the answer stays (input reduction; Feng et al., 2018). Masks, [CLS]
    and [SEP] stay, and so does the word whose tag is the answer.
    Raises ExplorerError as saliency does, for a score or a span, for an answer to reach that is the answer already,
    without an MLM head for "fill-mask", and if no word can be replaced or removed.
    Args:
        text: the text; [MASK] stands for a hidden word
        pair: a second text
        checkpoint: what `load` takes: a name, a folder or a Bert (of the function; a method has its own)
        precision: "fp32", "bf16" or "auto" (of the function; a method has its own)
        mask: words to hide, or spans (side, start, end)
        pick: words that the analysis is about, or spans (side, start, end)
        method: Method (gradient: HotFlip; fill-mask: likely words; reduction: leave words out)
        target: Change (answer: the first mask if there is one, else the fine-tuned head, else whether B follows A)
        word: Answer to reach (a single piece, a label or a tag; empty: any; a reduction ignores it)
        edits: Words that may change, 1 to 3
        candidates: Candidates for each word, 1 to 100
        function_words: Function words too (the, of, is, …: English ones)
        tagged_word: Tagged word (if a tag is explained; empty: the picked word, else the first that is not O, or seems replaced)
    """

class Methods:
    def forward_pass(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), layer: int = 0) -> Result: ...
    def fill_mask(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), top: int = 10, words: str | Sequence[str] = '') -> Result: ...
    def decoding(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), beam_width: int = 5) -> Result: ...
    def pseudo_likelihood(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), hide: Literal['the piece', 'the rest of its word too'] = 'the piece', most: int = 128) -> Result: ...
    def contrast(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), other: str = '', named: int = 8) -> Result: ...
    def left_context(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), top: int = 8) -> Result: ...
    def template(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), words: str | Sequence[str] = '', top: int = 5) -> Result: ...
    def next_sentence(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), candidates: str | Sequence[str] = '') -> Result: ...
    def sentence_matrix(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = ()) -> Result: ...
    def sentence_similarity(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), pooling: Literal['own', 'mean', 'CLS', 'max', 'last four summed'] = 'own', first_prompt: str = '', second_prompt: str = '', terms: Literal['last layer', 'input words'] = 'last layer', others: str = '', merge: bool = True, lines: Sequence[str] | str | Path | None = None) -> Result: ...
    def term_weights(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), top: int = 12) -> Result: ...
    def late_interaction(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), layer: int = -1, special: Literal['left out', 'included'] = 'left out', others: str = '') -> Result: ...
    def tokenization(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = ()) -> Result: ...
    def input_vectors(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), clip: int = 99) -> Result: ...
    def nearest_pieces(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), count: int = 10, order: Literal['cosine', 'dot product'] = 'cosine') -> Result: ...
    def attention(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), show: Literal['grid', 'head', 'arcs'] = 'grid', layer: int = 0, head: int = 0, heads: str | Sequence[str] = '', combine: Literal['mean', 'max'] = 'mean', merge: bool = False, special: Literal['shown', 'hidden', 'discounted'] = 'shown', direction: Literal['all', 'A to B', 'B to A'] = 'all', measure: Literal['weight', 'norm'] = 'weight') -> Result: ...
    def query_key(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), layer: int = 0, head: int = 0) -> Result: ...
    def attention_flow(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), method: Literal['rollout', 'flow', 'raw'] = 'rollout', layer: int = 0, special: Literal['shown', 'left out'] = 'shown') -> Result: ...
    def head_roles(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), show: Literal['roles', 'gallery', 'map'] = 'roles', pattern: Literal['main role', 'previous', 'next', 'same', '[SEP]', '[CLS]', 'punctuation', 'distance', 'entropy'] = 'main role', on: Literal['sample', 'this text'] = 'sample') -> Result: ...
    def switchboard(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), off: str | Sequence[str] = '', neurons: str = '', how: Literal['zero', 'mean', 'patch'] = 'zero', source: str = '', word: str = '', controls: int = 10, target: Literal['answer', 'mask', 'next sentence', 'label', 'tag', 'span start', 'span end', 'score'] = 'answer', tagged_word: str = '') -> Result: ...
    def bertviz(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), kind: Literal['head', 'model', 'neuron'] = 'head', layers: str = '', special: Literal['shown', 'left out'] = 'shown') -> Result: ...
    def word_in_context(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), word: str = '', sentences: str | Sequence[str] = '', sense: str = '', layer: int = -1, baseline: bool = True) -> Result: ...
    def word_path(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), layer: int = -1, word: str = '', sentences: str | Sequence[str] = '', plane: Literal['all words', 'these words', 'their differences'] = 'all words') -> Result: ...
    def embedding_map(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), unit: Literal['tokens', 'sentences'] = 'tokens', layer: int = -1, method: Literal['PCA', 't-SNE', 'UMAP'] = 'PCA', pooling: Literal['own', 'mean', 'CLS', 'max', 'last four summed'] = 'own', dimensions: Literal['2-D', '3-D'] = '2-D', colour: Literal['word', 'position', 'label'] = 'word', neighbours: int = 5, point: int = -1, lines: Sequence[str] | str | Path | None = None) -> Result: ...
    def search(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), top: int = 10, layer: int = -1, pooling: Literal['own', 'mean', 'CLS', 'max', 'last four summed'] = 'own', prompt: str = '', line_prompt: str = '', lines: Sequence[str] | str | Path | None = None) -> Result: ...
    def layers(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), words: str | Sequence[str] = '', top: int = 3, lens: Literal['raw', 'tuned'] = 'raw', target: Literal['answer', 'mask', 'label', 'tag', 'span start', 'span end', 'score'] = 'answer', tagged_word: str = '') -> Result: ...
    def neurons(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), layer: int = 0, neuron: int = 0, top: int = 10, word: str = '', target: Literal['answer', 'mask', 'next sentence', 'label', 'tag', 'span start', 'span end', 'score'] = 'answer', tagged_word: str = '', lines: Sequence[str] | str | Path | None = None) -> Result: ...
    def answer(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), top: int = 10, longest: int = 30, others: str = '') -> Result: ...
    def saliency(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), method: Literal['integrated gradients', 'gradient x input', 'occlusion', 'LIME', 'SHAP', 'attention', 'rollout', 'all'] = 'integrated gradients', target: Literal['answer', 'mask', 'next sentence', 'label', 'tag', 'span start', 'span end', 'score'] = 'answer', word: str = '', baseline: Literal['[MASK]', '[PAD]', 'zero'] = '[MASK]', steps: int = 32, samples: int = 200, merge: bool = True, tagged_word: str = '') -> Result: ...
    def referee(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), target: Literal['answer', 'mask', 'next sentence', 'label', 'tag', 'span start', 'span end', 'score'] = 'answer', word: str = '', orders: int = 10, points: int = 10, tagged_word: str = '') -> Result: ...
    def masking(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), roll: int = 1, chosen: float = 0.15, masked: float = 0.8, random: float = 0.1, whole_words: bool = False) -> Result: ...
    def sentence_pairs(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), not_next: float = 0.5, same_document: float = 0.0, roll: int = 1) -> Result: ...
    def suite(self, suite: Literal['everyday', 'agreement', 'role reversal', 'negation', 'occupations', 'next sentences'] = 'everyday', *, scoring: Literal['the whole sentence', 'the differing piece'] = 'the whole sentence', most: int = 200, rows: Sequence[Mapping[str, Any]] | str | Path | None = None) -> Result: ...
    def probe(self, task: Literal['part of speech', 'number', 'tense', 'length', 'word order'] = 'word order', *, seeds: int = 3, most: int = 300, rows: Sequence[Mapping[str, Any]] | str | Path | None = None) -> Result: ...
    def counterfactuals(self, text: str, pair: str = '', *, mask: Words = (), pick: Words = (), method: Literal['gradient', 'fill-mask', 'reduction'] = 'gradient', target: Literal['answer', 'mask', 'next sentence', 'label', 'tag', 'span start', 'span end', 'score'] = 'answer', word: str = '', edits: int = 2, candidates: int | Sequence[str] = 10, function_words: bool = False, tagged_word: str = '') -> Result: ...
