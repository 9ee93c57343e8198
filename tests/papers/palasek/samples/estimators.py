"""The public class of this paper, for the checks of scikit-learn."""

from workflow_lib import FisherVectorNetwork

OF_ROWS = []
OF_ITEMS = [FisherVectorNetwork(2)]
EXCEPTIONS_OF = {}
