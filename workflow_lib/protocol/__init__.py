"""The stages of an evaluation: splits, features, models, predictions, scores, statistics."""
