"""The figures of the predictions of the winner for the test rows of a user's table.

Each is a module, which is found by its place (`workflow_lib.core.plugins.PREDICTION_FIGURES`) and
drawn with the answer; the page shows it where it tells how far predictions are off. It has

``CAPTION``
    what it shows, in sentences;
``draw(calibration, names, label)``
    which returns a `matplotlib.figure.Figure` from the tree of a "calibration" artifact, the names
    of the outputs or of the classes, and what the method is called. Where there is nothing to show,
    a figure without data says so, and the page leaves it out.
"""
