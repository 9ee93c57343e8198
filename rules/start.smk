"""What precedes the configuration: the output on the terminal, and a check of its file.

Snakemake's own message about a file that is no YAML, or has no keys, does not name the file.
"""

from workflow_lib.config.files import check_base_file
from workflow_lib.errors import UserError

if not IS_MODULE:
    import terminal

    terminal.install(workflow)
    try:
        check_base_file(Path(OWN_SETTINGS))
    except UserError as error:
        raise WorkflowError(str(error)) from None
