"""What methods have in common, and what commands read of them without loading them."""
