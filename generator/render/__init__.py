"""From the catalog to ``generated/``: Jinja templates and the writer of the output folder."""
