"""Encoders of columns of names that every fold learns from its own training rows.

An encoder is a module of this package, found by its name (``gamma_poisson.py`` is the encoder
``gamma-poisson``), with a class ``Encoder``:

``Encoder.fit(column, seed)``
    learns from a `TrainingColumn`; the result has ``training_codes`` (n, k), those of the training
    rows themselves, which may differ from those of other rows with the same text;
``apply(texts)``
    returns the codes (m, k) of the texts of other rows;
``labels``
    k texts that name the codes, for tables;
``needs_level``
    whether a text that no row of the dataset has is noted as never seen;
``tree()`` and ``from_tree(tree)``
    store what `apply` needs in an artifact.
"""
