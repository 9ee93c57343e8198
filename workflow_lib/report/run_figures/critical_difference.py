"""The critical-difference diagram: average ranks of the methods over the datasets of a run.

Methods whose average ranks differ by less than the critical difference are joined by a thick line
(Demsar, Journal of Machine Learning Research 7, 2006, figure 1; here with a row for each method).
"""

from collections.abc import Mapping
from pathlib import Path

from workflow_lib.core.whole_files import write_text
from workflow_lib.report.inches import INK
from workflow_lib.report.labels import count_of, method_label
from workflow_lib.report.rank_sentences import rank_sentences, ranks_layout
from workflow_lib.report.ranks import MIN_TESTED_DATASETS, Ranking, rank_methods, write_ranks
from workflow_lib.report.results import read_scores
from workflow_lib.report.style import (
    WIDTH,
    applied_style,
    line_style,
    save_figure,
    short_names,
    write_title,
)
from workflow_lib.report.table_markup import latex_markup

ROW = 0.24
"""Height of the row of a method, in inches."""

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

    `experiments` are those of `workflow_lib.report.ranks.rank_methods`, and the order of `methods`
    is that of methods of equal rank.
    """
    records = {name: read_scores(path) for name, path in scores.items()}
    ranking = rank_methods(records, experiments, list(methods))
    save_figure(draw_critical_difference(ranking, methods), output_svg, output_png)
    write_ranks(output_csv, ranking, methods)
    write_text(output_latex, latex_markup(ranks_layout(ranking, methods), "ranks"))


def draw_critical_difference(ranking: Ranking | None, methods: Mapping[str, Mapping]):
    """Return the diagram: a row for each method, from the best to the worst average rank.

    The critical difference is a bar above the rows. Thick lines at the right join the rows of
    methods that are not distinguishable.

    Without a `ranking`, where too little is comparable, the figure says so.
    """
    from matplotlib.figure import Figure
    from matplotlib.transforms import ScaledTranslation

    with applied_style():
        n_rows = 0 if ranking is None else len(ranking.methods)
        figure = Figure(figsize=(WIDTH, 1.4 + ROW * n_rows), layout="constrained")
        if ranking is None:
            write_title(figure, "\n".join([_title(ranking), *rank_sentences(None, methods)]))
            return figure
        write_title(figure, f"{_title(ranking)}\n{_subtitle(ranking)}")
        axis = figure.subplots()
        # The number beside the worst rank stays left of the thick lines, which are not cut.
        figure.get_layout_engine().set(w_pad=0.1)
        axis.set_xlim(0.6, max(n_rows + 0.4, max(ranking.average_ranks) + 0.17 * n_rows))
        axis.set_ylim(n_rows - 0.4, -1.5)
        axis.set_xlabel("average rank")
        axis.set_xticks(range(1, n_rows + 1))
        labels = [method_label(method, methods) for method in ranking.methods]
        labels = short_names(labels, LABEL_LETTERS)
        axis.set_yticks(range(n_rows), labels, fontsize=9)
        axis.tick_params(axis="y", length=0)
        where = {"textcoords": "offset points", "va": "center", "fontsize": 8.5}
        for index, method in enumerate(ranking.methods):
            rank = ranking.average_ranks[index]
            axis.plot(rank, index, **line_style(method, methods), linestyle="", clip_on=False)
            axis.annotate(f"{rank:.2f}", (rank, index), (8, 0), **where)
        _draw_critical_difference(axis, ranking)
        for group, level in zip(ranking.groups, _group_levels(ranking), strict=True):
            shift = ScaledTranslation((8 + 7 * level) / 72, 0, figure.dpi_scale_trans)
            line = {"color": INK, "linewidth": 4.5, "solid_capstyle": "butt", "clip_on": False}
            line["transform"] = axis.get_yaxis_transform() + shift
            axis.plot([1, 1], [group[0] - 0.3, group[-1] + 0.3], **line)
    return figure


def _title(ranking: Ranking | None) -> str:
    if ranking is None:
        return "Average ranks of the methods over datasets"
    n_datasets, n_methods = ranking.ranks.shape
    n_stand_ins = sum(bool(dataset.stand_in_for) for dataset in ranking.datasets)
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
    few = " (too few for more than a description)" if n_datasets < MIN_TESTED_DATASETS else ""
    return f"N = {n_datasets}{few}, k = {n_methods}; {joined}"


def _group_levels(ranking: Ranking) -> list[int]:
    """Return a level for the line of each group; lines of one level do not touch."""
    levels, ends = [], []
    for group in ranking.groups:
        level = next((i for i, last in enumerate(ends) if last < group[0]), len(ends))
        ends[level : level + 1] = [group[-1]]
        levels.append(level)
    return levels


def _draw_critical_difference(axis, ranking: Ranking) -> None:
    """Draw the critical difference as a bar, or write that no two ranks can differ so much."""
    n_methods, critical = len(ranking.methods), ranking.critical_difference
    text, where = f"critical difference {critical:.2f}", {"va": "center", "fontsize": 8.5}
    if critical > n_methods - 1:
        axis.text(1, -1, f"{text}, longer than the axis", **where)
        return
    bar = {"color": INK, "linewidth": 1.6, "marker": "|", "markersize": 7}
    axis.plot([1, 1 + critical], [-1, -1], **bar)
    axis.annotate(text, (1 + critical, -1), (8, 0), textcoords="offset points", **where)
