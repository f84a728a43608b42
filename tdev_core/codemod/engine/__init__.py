"""The codemod's engine: what it decides about one file's text. See :mod:`.api`."""
