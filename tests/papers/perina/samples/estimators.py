"""The public classes of this paper, for the checks of scikit-learn."""

from workflow_lib import HiddenMarkovModel, ScoreSpace, TopicModel

OF_ROWS = [TopicModel(2, max_iter=5)]
OF_ITEMS = [HiddenMarkovModel(2), ScoreSpace(TopicModel(2))]
EXCEPTIONS_OF = {
    "TopicModel": dict.fromkeys(
        (
            *("check_estimators_dtypes", "check_estimator_sparse_tag", "check_fit2d_1feature"),
            *("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
        ),
        "gives rows of zeros, which are bags without a word and are refused",
    )
}
