"""The learners of the tasks, by the name of their task: heads, batches, losses, metrics, answers.

classification.py      the encoder with a classification head
tagging.py             the encoder with a token classifier, and a CRF where it is wanted
question_answering.py  the encoder with two logits a token, over all windows of a passage
similarity.py          the encoder alone, whose cosines are to be the scores
retrieval.py           one encoder for queries and passages; the others of a batch are wrong ones
reranking.py           one logit over query and passage
summary.py             a score for each sentence's own [CLS]
adaptation.py          the MLM head, on masks drawn anew each time
next_word.py           the MLM head under a causal mask
sequence.py            the MLM head under a prefix mask, and beam search
distillation.py        a student beside its teacher
"""
