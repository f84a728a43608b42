"""Measurements of what tdev costs, as ratios and differences taken in one run.

``python -m benchmarks`` measures everything, prints one table and writes benchmarks/RESULTS.md. Each
module ``bench_*.py`` has one function ``measure() -> list[Row]``, which the runner finds by itself.
"""
