"""The figures of a whole run: a module for each.

Each has ``run``, which reads the scores of the experiments, draws the figure and writes it. Its
`scores` map the names of the experiments, in the order of the run, to their ``scores.csv``, and its
`methods` map the names of the methods, in their order, to ``label``, ``color`` and ``marker``. It
raises UserError if a file is damaged or lacks the metric of its experiment.
"""
