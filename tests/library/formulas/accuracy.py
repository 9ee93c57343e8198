"""The accuracy by scikit-learn."""

from sklearn.metrics import accuracy_score

FORMULAS = {"accuracy": lambda rows: accuracy_score(rows.truth, rows.predictions)}
