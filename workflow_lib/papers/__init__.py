"""Systems of single papers. No module outside of this folder imports any of them.

The folder of a paper has folders of plug-ins, by the name of the kind
(`workflow_lib.core.plugins`). Its ``PUBLIC_NAMES`` are the names that `workflow_lib` offers, each
with its module below the paper.
"""
