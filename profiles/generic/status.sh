#!/bin/sh
# Print `running`, `success` or `failed` for the number of a job. EDIT: this asks Slurm, which has to
# know finished jobs for longer than the seconds between two status checks.
# Grid Engine: qacct -j knows finished jobs (exit_status), qstat -j the others; PBS: qstat -x -f.
answer=$(squeue --noheader --states=all --jobs="$1" --format=%T 2>&1)
case "$answer" in
    COMPLETED*) echo success ;;
    BOOT_FAIL* | CANCELLED* | DEADLINE* | FAILED* | NODE_FAIL* | OUT_OF_MEMORY* | TIMEOUT*) echo failed ;;
    '' | *"Invalid job id"*) echo failed ;;
    # Every other state, and also no answer: a scheduler that is down says nothing about its jobs.
    *) echo running ;;
esac
