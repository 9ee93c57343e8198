"""FASTA: a header, `>` and a text, followed by lines of letters, for each sequence."""

from collections.abc import Iterator

from workflow_lib.tabular.tables import wrong_source


def fasta_entries(text: str, location: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line number of each header, the header without `>`, and its letters.

    Raises UserError naming the line: letters before the first header, or a header without letters.
    """
    number, header, parts = 0, None, []
    for at, line in enumerate([*map(str.strip, text.splitlines()), ">"], start=1):
        if line.startswith(">"):
            if header is not None:
                if not parts:
                    raise wrong_source(
                        f"{location}, line {number}",
                        f"no sequence under the header '>{header[:60]}'",
                        "lines of letters",
                    )
                yield number, header, "".join(parts)
            number, header, parts = at, line[1:].strip(), []
        elif line and header is None:
            raise wrong_source(
                f"{location}, line {at}", f"'{line[:60]}'", "a header, which begins with '>', first"
            )
        elif line:
            parts.append(line)
