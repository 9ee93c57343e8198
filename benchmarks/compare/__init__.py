"""The comparison of our methods with those of other libraries, over all tables of the catalogue.

    python -m benchmarks compare [--tables NAME ...] [--peers NAME ...] [--methods NAME ...]

`tables` lists the tables; `own` runs the workflow on them, which makes the splits and fits our
methods; `peers` are the methods of other libraries and `cells` runs them on the same splits;
`summary` holds the numbers that are compared and `page` shows them.
"""
