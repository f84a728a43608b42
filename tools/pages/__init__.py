"""Write the pages of ``docs/`` that are made from tdev's own data: the codemod's rules, errors, packages.

What the catalog says of each function is on no page of these: ``tdev_core/site`` makes those, and
``python -m tdev matrix --format markdown`` prints them.

Imports ``tdev_core``, and the generator's writer; nothing imports it.
"""
