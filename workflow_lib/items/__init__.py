"""What rows of a dataset hold: numbers, sequences, bags, graphs, images; trees of classes."""
