"""Systems of single papers. No module outside of this folder imports any of them."""
