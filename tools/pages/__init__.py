"""Write the pages of ``docs/`` that are made from tdev's own data: the codemod's rules, the device functions.

Imports ``tdev_core``, and the generator's writer; nothing imports it.
"""
