"""Sets a spawned child up, as its main module, and then is the program's main module.

``multiprocessing`` runs this module under the name ``__mp_main__`` and gives what it defines to the
child's ``__main__``; so the program is executed in this very namespace. See :func:`.state.hand_on`.
"""

import importlib as _importlib
import sys as _sys

from tdev_core.run import mainmodule as _mainmodule
from tdev_core.run import state as _state

if __name__ == "__mp_main__":
    _inherited = _state.inherited()
    _compiler = _state.set_up(_inherited)
    if _inherited.mirror:
        _importlib.import_module("tdev")  # its shims belong to the set-up
    _main = _mainmodule.of(_inherited, _compiler)
    if _main is not None:
        _sys.argv[0] = _main.path
        _main.execute(globals())  # clears this namespace first; nothing may follow
