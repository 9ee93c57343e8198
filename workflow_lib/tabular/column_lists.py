"""Lists of columns as they are typed, separated by commas."""

from collections.abc import Collection, Sequence

from workflow_lib.tabular.tables import composed


def columns_of_list(value: str | Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the items of a comma-separated list, in which names of columns may hold commas.

    The list may be in brackets, unless these belong to names, as in ``[Ca],[Mg]``.
    """
    if not isinstance(value, str):
        return list(value)
    items = _split(value, names)
    inner = without_brackets(unquoted(value))
    if inner != value and not set(items) <= set(names):
        items = _split(inner, names)
    return [as_named(item, names) for item in items]


def _split(value: str, names: Sequence[str]) -> list[str]:
    """Return the texts between commas, joined again where they are the name of a column."""
    known, pieces, items = set(names), value.split(","), []
    position = 0
    while position < len(pieces):
        for end in range(len(pieces), position, -1):
            item = composed(",".join(pieces[position:end]))
            if composed(as_named(item, known)) in known or end == position + 1:
                break
        if item:
            items.append(item)
        position = end
    return items


def as_named(text: str, names: Collection[str]) -> str:
    """Return the name of a column without brackets or quotes that only the command has."""
    bare = unquoted(without_brackets(text))
    return text if composed(text) in names else bare


def without_brackets(value: str) -> str:
    """Return what is within the brackets around a list, as ``[y1, y2]``; else `value`."""
    inside = value[1:-1]
    is_list = value[:1] == "[" and value[-1:] == "]" and not set("[]") & set(inside)
    return inside if is_list else value


def unquoted(text: str) -> str:
    """Return a text without a pair of quotes around all of it."""
    quotes = len(text) > 2 and text[0] in "\"'" and text[0] == text[-1]
    return text[1:-1] if quotes and text[0] not in text[1:-1] else text
