"""Inputs of texts: counts of terms, kept as a sparse matrix from the reader to the Gram matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from scipy.sparse import csr_array


def is_sparse(inputs: Any) -> bool:
    """Return whether `inputs` is a scipy sparse matrix or array."""
    return hasattr(inputs, "tocsr")


def sparse_tree(inputs: csr_array) -> dict[str, Any]:
    """Return the group of a "dataset" artifact that holds sparse inputs (n, q).

    ``data``, ``indices`` and ``indptr`` are those of the CSR form with sorted indices, no stored
    zeros and no repeated entries; ``n_columns`` is q.
    """
    import numpy as np

    matrix = inputs.tocsr(copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return {
        "data": matrix.data.astype(np.float64),
        "indices": matrix.indices.astype(np.int64),
        "indptr": matrix.indptr.astype(np.int64),
        "n_columns": int(matrix.shape[1]),
    }


def inputs_of(dataset: Mapping[str, Any]) -> np.ndarray | csr_array:
    """Return the inputs (n, q) of the tree of a "dataset" artifact, dense or sparse as stored."""
    stored = dataset["inputs"]
    if not isinstance(stored, Mapping):
        return stored
    from scipy.sparse import csr_array

    shape = (len(stored["indptr"]) - 1, stored["n_columns"])
    return csr_array((stored["data"], stored["indices"], stored["indptr"]), shape=shape)


def joined_terms(terms: Sequence[str]) -> np.ndarray:
    """Return the names of sparse columns as an array of bytes (UTF-8, separated by newlines).

    As a text they would be an attribute of several megabytes, which HDF5 stores in its metadata.
    """
    import numpy as np

    return np.frombuffer("\n".join(terms).encode(), dtype=np.uint8)
