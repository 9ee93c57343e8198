"""Ridge regressions, machines, forests and kernels, without selection of settings."""
