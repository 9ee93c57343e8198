"""Names of the ways in which scores of classes are decoded (`workflow_lib.methods.class_ridge`)."""

BLOCK_DECODERS = ("class_block", "class_block_component_first")
"""Decoders with a membership block of its own, which weak rows can join."""

MIXTURE_DECODERS = ("candidates", *BLOCK_DECODERS)

PLAIN_DECODERS = ("one_hot", "least_loss", "output_kernel")
"""Decoders without a mixture."""

CLASS_DECODERS = (*PLAIN_DECODERS, *MIXTURE_DECODERS)
