"""Colours and markers of methods whose files name none."""

from workflow_lib.methods.contract.method_file import COLORS, MARKERS, MethodFile, with_line_styles


def method(**keys):
    return MethodFile(label="x", summary="x", **keys)


def test_a_method_without_colour_and_marker_differs_from_the_others():
    methods = {
        "b": method(),
        "a": method(color=COLORS[0].lower(), marker=MARKERS[1]),
        "c": method(color=COLORS[1]),
    }
    styled = with_line_styles(methods)
    assert list(styled) == ["a", "b", "c"]
    assert styled["a"] == methods["a"]
    assert (styled["b"].color, styled["b"].marker) == (COLORS[2], MARKERS[0])
    assert (styled["c"].color, styled["c"].marker) == (COLORS[1], MARKERS[2])


def test_values_come_again_once_all_are_in_use():
    n = len(COLORS) + 1
    styled = with_line_styles({f"m{i:02}": method() for i in range(n)})
    colors = [each.color for each in styled.values()]
    assert set(colors) == set(COLORS)
    assert colors[-1] == COLORS[0]
