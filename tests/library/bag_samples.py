"""Settings of a Fisher vector network that is quickly fitted."""

SETTINGS = {
    "components": "selected",
    "n_components": 2,
    "n_dimensions": 3,
    "mixture_bags": "all",
    "mixture_start": "em",
    "classifier_start": "svm",
    "n_epochs": 0,
    "batches": "halves",
    "batch_size": 4,
    "unlabelled_weight": 0.1,
    "m_steps": 0,
    "m_step_rate": 0.01,
    "in_batches": "used",
    "refit": False,
    "unlabelled": True,
    "by_epoch": False,
    "grid": {"penalty": [0.01, 0.1], "learning_rate": [1e-3], "pseudo_weight": [0.0]},
    "one_example": {},
    "seed": 0,
}
