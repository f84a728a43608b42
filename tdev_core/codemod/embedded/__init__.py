"""Rewrites Python that stands inside other files: notebooks, Markdown and reStructuredText.

Is given the engine as a function of one text; imports the engine's types, records and ``text``. Only
``jobs.process`` imports it, and ``audit``, which reads notebooks.
"""
