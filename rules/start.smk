"""What comes before the configuration: the words on the terminal, and whether its file can be read.

Snakemake tells of a file that is no YAML, or no list of keys, without its name.
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
