"""What becomes of inputs before a method learns from them."""
