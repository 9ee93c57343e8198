"""Linear Gaussian state-space models of short series, and their Fisher scores."""
