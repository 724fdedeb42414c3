"""BERT Explorer: see how BERT works. The map of the code, floor by floor; each floor imports only from those above it.

errors.py                     the one error that a person is meant to read, and what is said of all others
knobs.py                      a setting declared once -> a form on the page, a flag, a field in a file
cells.py                      a text as a spreadsheet may be given it: shown, never run
settings.py                   folders, host, port and limits, read once from the environment

model/config.py               the numbers that make an encoder, in one vocabulary for every family
model/encoder.py              the whole encoder, top down in the order data flows: start reading here
model/visible.py              who may look at whom: padding, direction and window in one mask
model/forward.py              what a pass leaves behind, and the changes that can be made to it while it runs
model/heads.py                the heads of pretraining and of fine-tuning: vectors -> the logits of one task
model/text.py                 Tokenizer: text (or a pair) -> Encoding, and pieces back to characters and words
model/cores.py                who computes when, and what is computed together
model/memo.py                 what is dear to make, kept within a number of bytes
model/checkpoint.py           an encoder with the heads its file holds; reading config.json and the model card
model/tensors.py              the tensors of a folder: safetensors only, checked before they are read
model/names.py                tensor names, from ours to the published ones and back, by a family's table
model/families/bert.py        BERT: the family that every other one is told apart from
model/families/roberta.py     RoBERTa, XLM-R and CamemBERT: positions start after the padding id
model/families/electra.py     ELECTRA: a generator that fills masks, a discriminator that spots replaced tokens
model/families/distilbert.py  DistilBERT: half the layers, no segments and no pooler
model/families/modernbert.py  ModernBERT: rotary positions, gated feed-forward, mostly local attention
model/initialise.py           fresh weights: a whole checkpoint that has learnt nothing, or the heads that one lacks
model/precision.py            what `auto` means on this machine, and what was used in the end
model/onnx.py                 the encoder and one head as ONNX
model/packed.py               linear layers whose bf16 weights are put into oneDNN's order once
model/load.py                 a folder -> Checkpoint, strictly
model/save.py                 Checkpoint -> a folder that transformers loads, tensor for tensor

engine/passes.py              one pass over one encoding, kept and shared by all views
engine/run.py                 how a pass is run: batches under a token budget, log-probabilities at the masks
engine/pairs.py               the logits of next-sentence prediction, for many pairs at once
engine/lens.py                the hidden state of every layer through the MLM head
engine/inputs.py              the vectors that add up to the input of the first layer
engine/ablation.py            passes with heads switched off or replaced, many settings at once
engine/vectors.py             vectors of sentences, words and tokens of many texts, only what is wanted kept
engine/lanes.py               quick views and slow ones wait in lines of their own
engine/masking.py             which tokens are to be guessed in pretraining, and what stands in their place
engine/collate.py             encodings padded into batches under a token budget
engine/gradients.py           gradients of a prediction with respect to the word vectors, in fp32

analysis/fill_mask.py         what the checkpoint would put in each blank, and how sure it is
analysis/decoding.py          several masks filled four ways
analysis/pseudo_likelihood.py how likely each token is given all the others, and so the sentence
analysis/contrast.py          one blank in two sentences, over the whole vocabulary
analysis/left_context.py      the same blank with the right side hidden from the encoder
analysis/template.py          one sentence with alternatives, {doctor|nurse}, for every way to choose
analysis/next_sentence.py     does B follow A, in both orders, and against other candidates
analysis/sentence_matrix.py   a paragraph: does each sentence follow each other one
analysis/tokenization.py      what goes in: pieces, ids, and the norms of the vectors that add up
analysis/input_vectors.py     the vectors that add up for one token, number by number
analysis/nearest_pieces.py    the neighbours of a token in the table of word vectors
analysis/heads.py             heads and layers as a person names them: 5·3
analysis/merge.py             pieces merged to words, between which attention is shown
analysis/attention.py         who looks at whom, in one head, several, or all side by side
analysis/attention_flow.py    rollout and flow: what a token is made of, layers taken together
analysis/alike.py             how far heads are apart, and a plane in which those distances hold best
analysis/head_roles.py        what every head looks at, and which heads behave alike
analysis/switchboard.py       heads switched off or replaced, each in turn too, and what the answer becomes
analysis/bertviz.py           what BertViz's three views need, and no more than a browser can draw
analysis/samples.py           plain sentences on ten topics, where a person has brought none
analysis/vectors.py           sentence vectors, cosines, principal components, what random pairs score
analysis/occurrences.py       where a word occurs in the text and in other sentences
analysis/word_in_context.py   one word in several sentences: cosines layer by layer, senses apart or not
analysis/word_path.py         the way of a word's vector through the layers, in one fixed plane
analysis/embedding_map.py     tokens or sentences laid out by PCA, t-SNE or UMAP, with neighbours
analysis/search.py            semantic search over lines
analysis/attribution.py       six ways to say how much each token counts
analysis/saliency.py          which tokens a prediction rests on
analysis/referee.py           each method's order put to the test against random orders
analysis/masking.py           what pretraining would hide of the text, roll by roll
analysis/sentence_pairs.py    true and random next sentences drawn, and told apart or not
analysis/layers.py            when the answer forms: every layer through the MLM head
analysis/words.py             words that a person names, scored in a blank
analysis/receipt.py           a result as CSV, JSON and the Python that repeats it, and what exactly made it

training/task.py              what a fine-tuning task is; torch is not imported for it
training/learner.py           a checkpoint with a task's head: trained by the loop, answers afterwards
training/student.py           a checkpoint with some of the layers of another
training/texts.py             texts -> ids -> padded tensors, and the pass over them while learning
training/objective.py         what the loop trains: an objective over batches, the losses of its tasks
training/loop.py              a generator of what happened, step by step; saving and stopping are up to who iterates
training/workers.py           a step's batches shared out among threads, each with gradients of its own
training/optimiser.py         AdamW in groups, and the learning rate along the budget
training/placement.py         this process alone, or several that add up their gradients
training/padding.py           like lengths together, so that next to nothing is padded
training/folder.py            a run's folder while one process works in it; stopped by a file or a signal
training/weights.py           weights and moments, for an exact resume
training/commit.py            checkpoints that survive a crash, read only if whole
training/events.py            what a run tells while it goes on, for programs and for people

training/data/read.py         an uploaded file -> a table, or a sentence that says what is wrong
training/data/rows.py         rows, problems with their line, columns under a task's names
training/data/decode.py       bytes -> text, and in which encoding they were
training/data/delimited.py    CSV and TSV, strictly: a row of another width is named, never shifted
training/data/jsonl.py        an object a line, or the list of one JSON file
training/data/numbers.py      a cell as a number or a relevance
training/data/hub.py          a data set of the hub by its name
training/data/qrels.py        queries, passages and judgements in three files
training/data/squad.py        questions on passages, with answers and where they start
training/data/conll.py        a token and its tag a line, a blank line between sentences
training/data/guess.py        which column is which that a task wants, by name, else by content
training/data/checks.py       labels, repetitions and empty cells, seen before a run
training/data/split.py        rows to learn from and to try on, no text on both sides

training/finetuning/run.py     a run is a folder: begun, gone on with, finished, told as events
training/finetuning/spec.py    every setting of a run, as spec.json holds it
training/finetuning/preflight.py  the rows as understood, what is wrong with them, before a run begins
training/finetuning/command.py  begin a run from a file, or go on with one
training/finetuning/learns.py  all weights, the head alone, the last layers, or small matrices
training/finetuning/lora.py    small matrices beside queries and values
training/finetuning/order.py   the order of the rows, the same for the same seed and epoch
training/finetuning/alarms.py  what goes wrong while it learns, in words
training/finetuning/trial.py   a few real steps, timed, before a run begins
training/finetuning/compare.py runs beside each other: several seeds, two of them row by row
training/finetuning/kept.py    the best checkpoint with its task and card; snapshots along the way

training/tasks/classification.py         one label for a text, or several
training/tasks/pair_classification.py    one label for two texts
training/tasks/tagging.py                a tag for each word, each alone or all together by a CRF
training/tasks/question_answering.py     where in a passage an answer starts and ends, or that there is none
training/tasks/similarity.py             how alike two texts are, as the cosine of their vectors
training/tasks/retrieval.py              passages found by the cosine of their vectors to a query's
training/tasks/reranking.py              passages put in order, each read together with the query
training/tasks/summary.py                the sentences of a document that make its summary
training/tasks/adaptation.py             masked language modelling goes on, on texts of one's own
training/tasks/next_word.py              left to right: what comes next, and a text continued
training/tasks/sequence.py               a target written from a source
training/tasks/distillation.py           a smaller student learns a classifier's answers

training/learners/classification.py      the encoder with a classification head
training/learners/tagging.py             the encoder with a token classifier, and a CRF where it is wanted
training/learners/question_answering.py  the encoder with two logits a token, over all windows of a passage
training/learners/similarity.py          the encoder alone, whose cosines are to be the scores
training/learners/retrieval.py           one encoder for queries and passages; the others of a batch are wrong ones
training/learners/reranking.py           one logit over query and passage
training/learners/summary.py             a score for each sentence's own [CLS]
training/learners/adaptation.py          the MLM head, on masks drawn anew each time
training/learners/next_word.py           the MLM head under a causal mask
training/learners/sequence.py            the MLM head under a prefix mask, and beam search
training/learners/distillation.py        a student beside its teacher

training/embedding.py         one vector a text, and texts in groups
training/ranking.py           BM25, and how good an order of passages is
training/negatives.py         batches in which every other row's passage is a wrong one
training/features.py          other columns of a row beside its text, as numbers
training/extract.py           which sentences make a summary, and how near one is to another by ROUGE
training/language.py          what an MLM head makes of tokens: nats, perplexity, word counts alone
training/generate.py          a text continued or written by beam search, with keys and values kept

training/entities/tags.py    tags as entities and back, in every scheme; what may follow what
training/entities/rows.py    rows with tags or with spans -> words with IOB2 tags
training/entities/crf.py     scores for which tag follows which: log Z, best path, marginals
training/entities/scores.py  entity F1 by several rules, per type; confusion word by word

training/answers/rows.py     questions whose answers stand where they are said to, or are found again
training/answers/windows.py  a question with as much of a passage as fits, again and again
training/answers/spans.py    the best spans of a window, of all windows
training/answers/scores.py   exact match and F1 by SQuAD's rules, thresholds for no answer

training/pretraining/command.py     begin, resume or lengthen a run; a signal ends it after a commit
training/pretraining/run.py         a run is a folder: begun, gone on with, finished, told as events
training/pretraining/spec.py        every setting of a run, as spec.json holds it
training/pretraining/start.py       what a run trains: made, written into its commits, read again
training/pretraining/sentences.py   plain text -> documents -> paragraphs -> sentences
training/pretraining/corpus.py      text files -> token ids on the disk, mapped into memory
training/pretraining/vocabulary.py  a WordPiece vocabulary trained on the text
training/pretraining/examples.py    examples drawn on the fly, the same for the same seed and step
training/pretraining/batches.py     examples -> padded tensors
training/pretraining/objectives.py  masked words, the next sentence, the next word, the replaced token
training/pretraining/heldout.py     documents never trained on, and the same masks over them always
training/pretraining/measure.py     the held-out measure for any checkpoint
training/pretraining/probe.py       how much a linear classifier reads off a frozen encoder
training/pretraining/experiments.py the papers' ablations in minutes, with what was published
training/pretraining/manuals.py     English that is on every machine: the manuals of the installed packages

figures/style.py              how figures look: one hue, numbers as people say them
figures/difference.py         two results of one analysis, those numbers first that differ most
figures/fill_mask.py          a bar for each answer, blank by blank
figures/decoding.py           what each method puts where and when; what it claims against what it is worth
figures/pseudo_likelihood.py  how surprising each token is, and the colours of the strip
figures/contrast.py           each piece at its probability in the one sentence and in the other
figures/left_context.py       two lists of answers, and under each who may look at whom
figures/template.py           a row for each filling, a column for each word
figures/next_sentence.py      both orders with their logits, the segments, the candidates ranked
figures/sentence_matrix.py    a cell for every pair of sentences, the true neighbours framed
figures/tokenization.py       the norms of the vectors, token by token
figures/input_vectors.py      a stripe of colours for each vector, and their cosines
figures/nearest_pieces.py     a bar for each neighbour, and where all other pieces lie
figures/tiles.py              many matrices as one PNG, and the shades of attention
figures/arcs.py               lines from the tokens that look to those looked at
figures/attention.py          all heads as tiles, one map, or lines
figures/attention_flow.py     token by token and layer by layer, beside raw attention
figures/head_roles.py         a cell for each head with what it does, or a map of heads
figures/switchboard.py        a cell for each head to press, and the answer with and without
figures/bertviz.py            BertViz's own scripts in one sandboxed document
figures/scatter.py            points with names that do not touch
figures/word_in_context.py    a cell for each pair of occurrences, and the cosine layer by layer
figures/word_path.py          a line through the layers, and how far it gets from its start
figures/embedding_map.py      points in a plane or in space, and the neighbours of one
figures/search.py             the lines found, beside what two random sentences score
figures/saliency.py           a bar for each token for or against the answer; several methods as columns
figures/referee.py            deletion and insertion curves, random orders as a band
figures/masking.py            tokens by rolls, each cell what became of it
figures/sentence_pairs.py     drawn pairs with the head's answer
figures/pretraining.py        pretraining runs over each other
figures/learning.py           how a run learns, by epoch, from before the first step
figures/confusion.py          what was taken for what
figures/layers.py             a row for each layer, and the rank of words through them
store/catalogue.py            the checkpoints that the picker offers, and what is known of each
store/hub.py                  a checkpoint fetched by name, or a quick and plain answer why not
store/library.py              a checkpoint by name: found, loaded once, shared, dropped when memory is short
store/memory.py               whether a checkpoint fits before it is read
store/locks.py                which process is at a file; the system lets go when it dies
store/series.py               the training that ships with the app, step by step
store/runs.py                 runs as their folders show them: state, events as they grow, checkpoints
store/table.py                the rows of the jobs in SQLite, for one server at a time
store/trash.py                deleted runs, moved aside and kept for a week
store/jobs.py                 runs accepted for good, in line, renamed, resumed, deleted
store/trainer.py              starts queued runs as processes, takes over those that live, tells how they died
store/lines.py                an uploaded CSV, TSV or TXT as lines, kept under a hash of its content
store/quota.py                how much of the disk one owner's uploads and runs may take
store/index.py                vectors in a Qdrant database, in a folder or on a server

ui/quick.py                   gradio imported without the editor stubs that take half of its import time
ui/page.py                    workbench, views, one figure, picker, and which event leads to which handler
ui/handlers.py                what happens at each event of the page
ui/screen.py                  the components, read into a State, and an Answer written back to them
ui/explore.py                 what happens when a person types, presses, picks: look up, analyse, draw
ui/seen.py                    what the page held at an event, and what a person therefore asks for
ui/turns.py                   a tab's events in their order, and of the answers only the newest shown
ui/slim.py                    gradio's Blocks, spending nothing on what an answer leaves as it is
ui/personal.py                whose event it is, and what that person may see
ui/state.py                   all that a person has set, to and from the address bar's link
ui/strip.py                   the text as token chips, each a button that hides its token
ui/forms.py                   an Options dataclass -> the components of a form
ui/about.py                   limits and promises in plain words, folded at the end of each page
ui/pieces.py                  the small pieces of HTML; everything from outside is escaped here
ui/example.py                 a text that teaches something in a view, one click away
ui/tabs/fill_mask.py          view: what would BERT put here?
ui/tabs/decoding.py           view: how should several blanks be filled together?
ui/tabs/pseudo_likelihood.py  view: how likely is this sentence, word by word?
ui/tabs/contrast.py           view: what changes when one word of the sentence does?
ui/tabs/left_context.py       view: what does it mean to read in both directions?
ui/tabs/template.py           view: what does a change of one word do, case by case?
ui/tabs/next_sentence.py      view: does B follow A?
ui/tabs/sentence_matrix.py    view: which sentence of a paragraph follows which?
ui/tabs/tokenization.py       view: what goes in?
ui/tabs/input_vectors.py      view: what is added up for a token?
ui/tabs/nearest_pieces.py     view: which pieces does BERT hold to be alike?
ui/tabs/attention.py          view: who looks at whom?
ui/tabs/attention_flow.py     view: where does a token come from?
ui/tabs/head_roles.py         view: what does each head do?
ui/tabs/switchboard.py        view: which heads does the answer need?
ui/tabs/bertviz.py            view: what do the heads look like in BertViz?
ui/tabs/word_in_context.py    view: where does this word live?
ui/tabs/word_path.py          view: where does a word go on its way through the layers?
ui/tabs/embedding_map.py      view: what lies near what?
ui/tabs/search.py             view: which lines mean something like this?
ui/tabs/saliency.py           view: which words mattered?
ui/tabs/referee.py            view: which explanation holds?
ui/tabs/masking.py            view: how does it learn without answers?
ui/tabs/sentence_pairs.py     view: what is “next sentence” made from?
ui/tabs/layers.py             view: when does BERT make up its mind?
ui/laboratory/desk.py         an experiment started and watched, without gradio
ui/laboratory/pieces.py       the HTML of the laboratory
ui/laboratory/page.py         the laboratory: experiments, their runs, the papers' figures
ui/laboratory/wiring.py       every event of the laboratory and what happens then

ui/training/page.py           the training page: what to learn and from what, the runs, one watched and tried
ui/training/wiring.py         every event of it and its handler
ui/training/starting.py       what happens before a run: rows looked at, Start
ui/training/watching.py       what happens after: one run watched, tried, compared, taken along
ui/training/beside.py         seeds of one run, runs of one task beside each other
ui/training/export.py         what a run made as ZIP, as ONNX, on the hub
ui/training/desk.py           rows looked at, runs started and read; knows no gradio
ui/training/pieces.py         its HTML

server/launch.py              the application on its port, until a signal ends it
server/application.py         the page, and around it the layers that a request passes
server/watch.py               each request with an id, counted, timed and written down
server/headers.py             what a browser is told of every answer
server/guard.py               which requests are answered at all: name, origin, route
server/health.py              /healthz, /readyz and /metrics
server/owners.py              each browser known again by a signed cookie, its pages kept from others
server/line.py                where someone stands who waits for an answer
server/gate.py                a class code, asked for once
server/body.py                how much may come in and how long it may take; JSON made fit to be answered
server/files.py               files that a request names are those that were uploaded here
server/seal.py                what signs cookies, with a secret of the data folder
server/reply.py               headers and cookies read, a sentence sent
server/metrics.py             the numbers of the server, for Prometheus
server/logs.py                one line of JSON for each thing worth noting
server/look.py                the theme of the page, what its head fetches early

cli/main.py                   every analysis as a command, its Options as flags; checkpoints; runs that learn
__main__.py                   python -m bertexplorer
"""
