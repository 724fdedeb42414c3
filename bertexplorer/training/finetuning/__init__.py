"""Fine-tuning: rows -> a task's learner -> a run in a folder.

run.py            compute a run: start, resume, evaluate, finish
spec.py           all settings of a run, as in spec.json
preflight.py      plan a run: settings, rows and findings about them
command.py        command line: start a run from a file, resume one, or time a few steps
trainable.py      which parameters are trained, and at which learning rate; LoRA
batch_sampler.py  the rows of each batch, reproducible from seed and epoch
compare.py        warnings during training; confidence intervals; several seeds; two runs row by row
influence.py      the training rows behind an answer, and rows whose labels look wrong (TracIn)
gradients.py      gradients and vectors of training rows, for influence.py
artifacts.py      the best checkpoint with its task and card; snapshots along the way
card.py           the model card, with rows as examples only on request
"""
