"""The command `ofer` on the terminal."""

import subprocess
import sys


def test_a_reader_that_stops_reading_is_no_fault(tmp_path):
    lines = ["a,b,y", *(f"{row % 7},{row % 5},{row * 0.37 % 3}" for row in range(40))]
    (tmp_path / "table.csv").write_text("\n".join(lines), encoding="utf-8")
    code = "import sys; from workflow_lib.table.command_line import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "check", "table.csv", "--outputs", "y"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, "")
