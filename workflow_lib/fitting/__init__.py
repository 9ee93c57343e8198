"""What methods fit with: the rows of a split as its folds see them, targets, grids and errors."""
