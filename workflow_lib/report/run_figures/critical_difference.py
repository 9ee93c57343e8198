"""The critical-difference diagram: average ranks of the methods over the datasets of a run.

Methods whose average ranks differ by less than the critical difference are joined by a thick line
(Demsar, Journal of Machine Learning Research 7, 2006, figure 1).
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from workflow_lib.report.inches import GREY, INK, page, shortened, write
from workflow_lib.report.labels import count_of, method_label
from workflow_lib.report.rank_sentences import data_sentences, rank_sentences
from workflow_lib.report.rank_tables import ranks_layout
from workflow_lib.report.ranks import LEAST_FOR_A_TEST, Ranking, rank_methods, write_ranks
from workflow_lib.report.results import read_scores
from workflow_lib.report.style import applied_style, line_style, save_figure
from workflow_lib.report.table_markup import latex_markup
from workflow_lib.whole_files import write_text

# All lengths are in inches, downwards from the upper edge.
WIDTH = 9.6
AXIS_LEFT, AXIS_RIGHT = 3.1, 6.5
AXIS_BELOW_TOP = 0.72
LINE = 0.165
LEVEL = 0.27
GROUP_LEVEL = 0.13
LETTERS = 140
"""Letters of a line of the notes."""

LABEL_LETTERS = 30
"""Letters of a label; a longer label is cut."""


def run(
    scores: Mapping[str, str | Path],
    experiments: Mapping[str, Mapping],
    methods: Mapping[str, Mapping],
    output_svg: str | Path,
    output_png: str | Path,
    output_csv: str | Path,
    output_latex: str | Path,
) -> None:
    """Read the scores of all experiments, rank the methods, and write the diagram and the ranks.

    Parameters
    ----------
    scores : mapping of experiment name to path
        The ``scores.csv`` of every experiment, in the order of the run.
    experiments : mapping of experiment name to mapping
        ``title``, ``dataset``, ``stand_in_for``, ``is_made`` and ``metric``, as in
        `workflow_lib.report.ranks.rank_methods`.
    methods : mapping of method name to {"label", "color", "marker"}
        Its order is that of methods of equal rank.
    output_svg, output_png, output_csv, output_latex : path

    Raises
    ------
    UserError
        If a file is damaged, or lacks the metric of its experiment.
    """
    records = {name: read_scores(path) for name, path in scores.items()}
    ranking = rank_methods(records, experiments, list(methods))
    save_figure(draw_critical_difference(ranking, methods), output_svg, output_png)
    write_ranks(output_csv, ranking, methods)
    write_text(output_latex, latex_markup(ranks_layout(ranking, methods), "ranks"))


def draw_critical_difference(ranking: Ranking | None, methods: Mapping[str, Mapping]):
    """Return the diagram, with the sentences about the ranks and their data below.

    Parameters
    ----------
    ranking : Ranking or None
        None, where too little is comparable, gives a figure that says so.
    methods : mapping of method name to {"label", "color", "marker"}

    Returns
    -------
    matplotlib.figure.Figure
        To be written by `workflow_lib.report.style.save_figure`.
    """
    from matplotlib.figure import Figure

    notes = _wrapped(rank_sentences(ranking, methods) + data_sentences(ranking, methods))
    diagram = 0.25 if ranking is None else _diagram_height(ranking)
    top = 0.35 if ranking is None else 0.62
    height = top + diagram + LINE * len(notes) + 0.15
    with applied_style():
        figure = Figure(figsize=(WIDTH, height))
        axis = page(figure)
        write(axis, 0.15, 0.22, _title(ranking), fontsize=11)
        if ranking is not None:
            write(axis, 0.15, 0.45, _subtitle(ranking), color=GREY)
            _draw_ranking(axis, ranking, methods, top)
        for number, (text, is_first) in enumerate(notes):
            y = top + diagram + LINE * (number + 0.5)
            write(axis, 0.15 if is_first else 0.27, y, text, fontsize=8.5, color=GREY)
    return figure


def _title(ranking: Ranking | None) -> str:
    if ranking is None:
        return "Average ranks of the methods over datasets"
    n_datasets, n_methods = ranking.ranks.shape
    n_stand_ins = sum(bool(place.stand_in_for) for place in ranking.places)
    title = f"Average ranks of {n_methods} methods over {count_of(n_datasets, 'dataset')}"
    if n_stand_ins == n_datasets:
        return f"{title}, all of them stand-ins"
    if n_stand_ins:
        return f"{title}, {n_stand_ins} of them {'a stand-in' if n_stand_ins == 1 else 'stand-ins'}"
    return title


def _subtitle(ranking: Ranking) -> str:
    n_datasets, n_methods = ranking.ranks.shape
    joined = "thick lines join methods that are not distinguishable"
    if not ranking.groups:
        joined = "all methods are distinguished from each other"
    few = " (too few for more than a description)" if n_datasets < LEAST_FOR_A_TEST else ""
    return f"N = {n_datasets}{few}, k = {n_methods}; the best rank is on the left; {joined}"


def _wrapped(sentences: Sequence[str]) -> list[tuple[str, bool]]:
    """Return the lines of the sentences, and whether each is the first of its sentence."""
    return [
        (line, number == 0)
        for sentence in sentences
        for number, line in enumerate(textwrap.wrap(sentence, LETTERS, break_on_hyphens=False))
    ]


def _diagram_height(ranking: Ranking) -> float:
    """Return the height from the bar of the critical difference to the last label."""
    n_levels = math.ceil(len(ranking.methods) / 2)
    return AXIS_BELOW_TOP + _groups_height(ranking) + LEVEL * n_levels + 0.2


def _groups_height(ranking: Ranking) -> float:
    """Return the height between the axis and the labels, for the lines of the groups."""
    levels = _group_levels(ranking)
    return 0.2 + GROUP_LEVEL * (max(levels, default=-1) + 1)


def _group_levels(ranking: Ranking) -> list[int]:
    """Return a level for the line of each group; lines of one level do not touch."""
    levels, ends = [], []
    for group in ranking.groups:
        begin, end = _ends(ranking, group)
        level = next((i for i, last in enumerate(ends) if last + 0.1 < begin), len(ends))
        ends[level : level + 1] = [end]
        levels.append(level)
    return levels


def _ends(ranking: Ranking, group: Sequence[int]) -> tuple[float, float]:
    """Return where the line of a group begins and ends."""
    ranks, n_methods = ranking.average_ranks, len(ranking.methods)
    left, right = (_position(ranks[place], n_methods) for place in (group[0], group[-1]))
    return left - 0.05, right + 0.05


def _position(rank: float, n_methods: int) -> float:
    """Return where a rank lies on the axis, the best one on the left."""
    return AXIS_LEFT + (AXIS_RIGHT - AXIS_LEFT) * (rank - 1) / (n_methods - 1)


def _draw_ranking(axis, ranking: Ranking, methods: Mapping[str, Mapping], top: float) -> None:
    """Draw the axis, the critical difference, the methods and the lines of the groups."""
    n_methods = len(ranking.methods)
    line = top + AXIS_BELOW_TOP
    _draw_critical_difference(axis, ranking, line - 0.46)
    _draw_axis(axis, n_methods, line)
    ranks = ranking.average_ranks
    first_level = line + _groups_height(ranking) + 0.1
    n_left = math.ceil(n_methods / 2)
    for place, method in enumerate(ranking.methods):
        is_left = place < n_left
        level = place if is_left else n_methods - 1 - place
        look = line_style(method, methods)
        x, y = _position(ranks[place], n_methods), first_level + LEVEL * level
        end = AXIS_LEFT - 0.2 if is_left else AXIS_RIGHT + 0.2
        axis.plot([x, x, end], [line, y, y], color=look["color"], linewidth=1.2, zorder=2)
        for spot in ((x, line), (end, y)):
            axis.plot(
                *spot,
                **look,
                linestyle="",
                markersize=6.5,
                markeredgecolor="white",
                markeredgewidth=0.5,
                zorder=4,
                clip_on=False,
            )
        name = shortened(method_label(method, methods), LABEL_LETTERS)
        number = f"{ranks[place]:.2f}"
        text = f"{name}   {number}" if is_left else f"{number}   {name}"
        write(
            axis,
            end - 0.12 if is_left else end + 0.12,
            y,
            text,
            fontsize=9,
            ha="right" if is_left else "left",
        )
    for group, level in zip(ranking.groups, _group_levels(ranking), strict=True):
        y = line + 0.2 + GROUP_LEVEL * level
        look = {"color": INK, "linewidth": 4.5, "solid_capstyle": "butt", "zorder": 3}
        axis.plot(_ends(ranking, group), [y, y], **look)


def _draw_axis(axis, n_methods: int, line: float) -> None:
    """Draw the axis of ranks, with a mark at each whole rank."""
    axis.plot([AXIS_LEFT, AXIS_RIGHT], [line, line], color=INK, linewidth=1.2, zorder=1)
    for rank in range(1, n_methods + 1):
        x = _position(rank, n_methods)
        axis.plot([x, x], [line - 0.07, line], color=INK, linewidth=1.0)
        write(axis, x, line - 0.16, str(rank), fontsize=8.5, ha="center")


def _draw_critical_difference(axis, ranking: Ranking, line: float) -> None:
    """Draw the critical difference as a bar, or write that no two ranks can differ so much."""
    n_methods, critical = len(ranking.methods), ranking.critical_difference
    text = f"critical difference {critical:.2f}"
    if critical > n_methods - 1:
        write(
            axis,
            AXIS_LEFT,
            line,
            f"{text}: above the largest possible difference ({n_methods - 1})",
            fontsize=8.5,
        )
        return
    left, right = _position(1, n_methods), _position(1 + critical, n_methods)
    axis.plot([left, right], [line, line], color=INK, linewidth=1.6)
    for x in (left, right):
        axis.plot([x, x], [line - 0.05, line + 0.05], color=INK, linewidth=1.6)
    write(axis, right + 0.1, line, text, fontsize=8.5)
