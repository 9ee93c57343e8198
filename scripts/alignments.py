"""Compute an alignment kernel between all output series of one dataset."""

from adapter import job

with job(snakemake):
    from workflow_lib.protocol import alignments

    alignments.run(
        dataset=snakemake.input.dataset,
        output=snakemake.output[0],
        kernel=snakemake.params.kernel,
        output_widths=snakemake.params.output_widths,
    )
