"""Run a Python program in a process of its own without importing torch anew for it.

    done = python("-c", "import tdev; print(tdev.zeros(1))", env=environment(TDEV_BACKEND="cpu"))
    assert done.returncode == 0, done.stderr

A server, one for each process that asks, has imported torch and nothing that starts threads, and forks for
each program. ``tdev`` is never imported in the server: which backend a process has is decided by its import.
The program finds what it would find as ``python -c``, ``-m`` or ``python file``: arguments, ``sys.path``,
``__main__``, environment, working directory, standard input, exit status, tracebacks, ``atexit``; and has a
session of its own. What is read before the first line of a program (options of the interpreter, ``PYTHON…``
variables, those that torch reads when it is imported) cannot be changed after the fact: with those, with
``fresh=True``, and on systems other than Linux, the program gets an interpreter of its own. Ask for one where
a test is about an interpreter's start or end: a fork ends without taking modules and libraries apart.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from typing import IO, NoReturn

__all__ = ["COMPILER", "Program", "environment", "python", "ranks", "start"]

ROOT = Path(__file__).resolve().parents[1]

COMPILER = ("torch._dynamo", "torch._inductor.compile_fx")
"""What programs that compile import first; for ``preload``."""

# Read by the interpreter or by torch before a program's first line. A value that differs from the
# server's needs an interpreter of its own.
_READ_EARLY = (
    "PYTHON", "TORCH", "PYTORCH", "OMP_", "MKL_", "KMP_", "GOMP_", "OPENBLAS", "LD_", "DYLD_", "MALLOC_",
    "GLIBC_", "CUDA_", "NVIDIA_", "LC_", "LANG",
)  # fmt: skip
_READ_LATE = (
    "PYTHONPATH",
    "TORCH_SYMBOLIZE_MODE",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "TORCHELASTIC_",
)


def environment(**settings: str | None) -> dict[str, str]:
    """This process's environment without tdev's settings, with this tree importable, and ``settings``.

    No program compiles the kernels of mlx behind itself: that would take a core from the tests for minutes.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("TDEV_")}
    env["TDEV_NATIVE_BUILD"] = "0"
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "generated")])
    for name, value in settings.items():
        env.pop(name, None)
        if value is not None:
            env[name] = value
    return env


def python(
    *arguments: str,
    input: str = "",
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    timeout: float = 300,
    fresh: bool = False,
    preload: tuple[str, ...] = (),
) -> subprocess.CompletedProcess[str]:
    """Run ``python ARGUMENTS`` to its end and return its exit status and what it printed.

    Args:
        arguments: what follows ``python`` on a command line.
        env: the whole environment; default: this process's.
        timeout: seconds, after which the program and what it started is killed.
        fresh: whether the program is about the start of an interpreter and needs a new one.
        preload: parts of torch that are already imported, as in a program that has imported them before
            tdev. Each combination has a server of its own: use :data:`COMPILER`.

    Raises:
        subprocess.TimeoutExpired: with what was printed until then.
    """
    program = start(*arguments, input=input, env=env, cwd=cwd, fresh=fresh, preload=preload)
    return program.wait(timeout)


def start(
    *arguments: str,
    input: str = "",
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    fresh: bool = False,
    preload: tuple[str, ...] = (),
) -> Program:
    """Start ``python ARGUMENTS``, for programs that run side by side; see :func:`python`."""
    env = dict(os.environ if env is None else env)
    files = [tempfile.TemporaryFile() for _ in range(3)]
    files[0].write(input.encode())
    files[0].seek(0)
    directory = os.fspath(cwd) if cwd is not None else os.getcwd()
    if not fresh and _forks(arguments, directory):
        server = _server(preload)
        if _early(env) == _early(server.env):
            return _Forked(server.control, arguments, env, directory, files)
    return _Fresh(arguments, env, directory, files)


def ranks(
    *arguments: str, env: Mapping[str, str], preload: tuple[str, ...] = (), timeout: float = 300
) -> list[subprocess.CompletedProcess[str]]:
    """Run ``python ARGUMENTS`` as the two ranks that torchrun would start, to their ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    shared = {
        **env,
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "TORCHELASTIC_RUN_ID": "none",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    started = [
        start(*arguments, env={**shared, "RANK": rank, "LOCAL_RANK": rank}, preload=preload)
        for rank in ("0", "1")
    ]
    try:
        return [program.wait(timeout) for program in started]
    finally:
        for program in started:
            program.kill()


class Program:
    """A program that was started; its output is in files, so nobody has to read while it runs."""

    def __init__(self, arguments: tuple[str, ...], files: list[IO[bytes]]) -> None:
        self.arguments = [sys.executable, *arguments]
        self._files = files
        self._ended = False

    def wait(self, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """Wait for the program's end; kill it and all of its session if that does not come."""
        try:
            status = self._status(timeout)
        except BaseException as error:
            self.kill()
            if isinstance(error, (TimeoutError, subprocess.TimeoutExpired)):
                out, err = self._printed()
                raise subprocess.TimeoutExpired(self.arguments, timeout, out, err) from None
            raise
        self._ended = True
        return subprocess.CompletedProcess(self.arguments, status, *self._printed())

    def kill(self) -> None:
        """Kill the program's session, if it has not ended."""
        if not self._ended:
            _kill(self._pid())

    def _printed(self) -> tuple[str, str]:
        texts = []
        for file in self._files[1:]:
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
        return texts[0], texts[1]

    def _pid(self) -> int:
        raise NotImplementedError

    def _status(self, timeout: float) -> int:
        raise NotImplementedError


class _Fresh(Program):
    def __init__(
        self, arguments: tuple[str, ...], env: dict[str, str], cwd: str, files: list[IO[bytes]]
    ) -> None:
        super().__init__(arguments, files)
        stdin, stdout, stderr = files
        self._process = subprocess.Popen(
            self.arguments,
            env=env,
            cwd=cwd,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
        )

    def _pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        if self._process.poll() is None:
            super().kill()
            self._process.wait()

    def _status(self, timeout: float) -> int:
        return self._process.wait(timeout)


class _Forked(Program):
    def __init__(
        self,
        control: socket.socket,
        arguments: tuple[str, ...],
        env: dict[str, str],
        cwd: str,
        files: list[IO[bytes]],
    ) -> None:
        super().__init__(arguments, files)
        self._reply, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with tempfile.TemporaryFile() as request, theirs:
            request.write(json.dumps([arguments, env, cwd]).encode())
            request.seek(0)
            fds = [f.fileno() for f in (request, *files, theirs)]
            socket.send_fds(control, [b"fork"], fds)
        self._known_pid = self._answer(
            300
        )  # the first to ask waits for the imports, on a busy machine for long

    def _answer(self, timeout: float) -> int:
        self._reply.settimeout(timeout)
        told = self._reply.recv(64)
        if not told:
            raise RuntimeError("the fork server has ended; its message is in this test's stderr")
        return int(told)

    def _pid(self) -> int:
        return self._known_pid

    def _status(self, timeout: float) -> int:
        with self._reply:
            return self._answer(timeout)


def _forks(arguments: tuple[str, ...], cwd: str) -> bool:
    """Whether this is ``-c CODE …``, ``-m MODULE …`` or ``FILE …``, on a system that forks well."""
    first = arguments[0] if arguments else ""
    if first not in ("-c", "-m") and not first.endswith(".py"):
        return False
    return _system_forks() and (first.startswith("-") or os.path.isfile(os.path.join(cwd, first)))


@functools.cache
def _system_forks() -> bool:
    if sys.platform == "linux":
        with contextlib.suppress(OSError):  # some sandboxes have no such system call
            os.close(os.pidfd_open(os.getpid()))
            return True
    return False


# -- the server, as its clients see it ----------------------------------------------------------


@dataclass(frozen=True)
class _Server:
    process: subprocess.Popen[bytes]
    control: socket.socket  # its end is the server's
    env: dict[str, str]


_servers: dict[tuple[int, tuple[str, ...]], _Server] = {}
_lock = threading.Lock()


def _early(env: Mapping[str, str]) -> dict[str, str]:
    return {
        k: v for k, v in env.items() if k.startswith(_READ_EARLY) and not k.startswith(_READ_LATE)
    }


def _server(preload: tuple[str, ...]) -> _Server:
    """Return this process's server, started when it is asked for first."""
    with _lock:
        found = _servers.get((os.getpid(), preload))
        if found is None:
            found = _servers[os.getpid(), preload] = _started(preload)
            atexit.register(_stop, os.getpid(), found)
        return found


def _started(preload: tuple[str, ...]) -> _Server:
    env = dict(os.environ)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno()), *preload],
            # Or what the server imports would start CUDA's driver, where there is one, which no fork can use then.
            env={**env, "PYTHONPATH": "", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"},
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    return _Server(process, ours, env)


def _stop(owner: int, server: _Server) -> None:
    if owner == os.getpid():  # and not in a fork of it
        server.control.close()
        server.process.wait(60)


# -- the server itself --------------------------------------------------------------------------


def _serve(control: socket.socket) -> list[str] | None:
    """Fork for each request; return the program's arguments in a child, and None at the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked ends what was started
    waiting = selectors.PollSelector()
    waiting.register(control, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.data is not None:
                pid, reply = key.data
                waiting.unregister(key.fd)
                os.close(key.fd)
                _send(reply, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                reply.close()
                continue
            message, fds, _, _ = socket.recv_fds(control, 16, 5)
            if not message:  # nobody asks any more, however that came
                for pid in [other.data[0] for other in waiting.get_map().values() if other.data]:
                    _kill(pid)
                return None
            pid = os.fork()
            if pid == 0:
                for other in list(waiting.get_map().values()):
                    if other.data is not None:
                        other.data[1].close()
                        os.close(other.fd)
                control.close()
                return _become(fds)
            for fd in fds[:-1]:
                os.close(fd)
            reply = socket.socket(fileno=fds[-1])
            _send(reply, pid)
            waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, reply))


def _kill(pid: int) -> None:
    """Kill a program and what it has started; a fork that is young has made no group of its own yet."""
    for kill in (os.killpg, os.kill):
        try:
            return kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _send(reply: socket.socket, number: int) -> None:
    with contextlib.suppress(OSError):  # nobody waits any more
        reply.send(str(number).encode())


def _become(fds: list[int]) -> list[str]:
    """Give this fork what ``python ARGUMENTS`` has before its first line; return the arguments."""
    request, *standard, reply = fds
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with open(request, "rb") as file:
        arguments, env, cwd = json.load(file)
    for number, fd in enumerate(standard):
        os.dup2(fd, number)
        os.close(fd)
    os.close(reply)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.orig_argv[:] = [sys.executable, *arguments]
    return list(arguments)


def _site_customized() -> None:
    """Import the ``sitecustomize`` of this program's path. A system's Python, as Debian's, has one of its own loaded."""
    found = PathFinder.find_spec("sitecustomize")
    loaded = sys.modules.get("sitecustomize")
    if found is not None and (loaded is None or loaded.__file__ != found.origin):
        sys.modules.pop("sitecustomize", None)
        importlib.import_module("sitecustomize")


def _execute(arguments: list[str]) -> NoReturn:
    """Run the program as ``__main__``, tell what it raises as the interpreter tells it, and end."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    kind, *rest = arguments
    name, source, first = "<string>", b"", ""
    if kind == "-c":
        source = rest[0].encode()
        sys.argv[:] = ["-c", *rest[1:]]
    elif kind == "-m":
        first = os.getcwd()
        sys.argv[:] = ["-m", *rest[1:]]
    else:
        name = main.__file__ = os.path.abspath(kind)
        main.__loader__ = SourceFileLoader("__main__", name)
        first, source = os.path.dirname(os.path.realpath(name)), Path(name).read_bytes()
        sys.argv[:] = arguments
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [first, *given, *sys.path[1:]]
    importlib.invalidate_caches()
    _site_customized()
    status = 0
    try:
        if kind == "-m":
            runpy._run_module_as_main(rest[0])  # type: ignore[attr-defined]  # as python -m does
        else:
            exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as end:
        status = _status_of(end.code)
    except BaseException as error:
        own = error.__traceback__
        traceback = own and own.tb_next
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        status = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    _end(main, status)


def _status_of(code: object) -> int:
    if code is None or isinstance(code, int):
        return int(code or 0)
    print(code, file=sys.stderr)
    return 1


def _end(main: types.ModuleType, status: int) -> NoReturn:
    """End as an interpreter does, but for taking all of torch apart, which takes longer than most programs."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    for name in main.__dict__.keys() - {"__builtins__"}:
        main.__dict__[name] = None
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status & 0xFF)


if __name__ == "__main__":
    import numpy  # torch would import it at the first tensor
    import torch

    control = socket.socket(fileno=int(sys.argv[1]))
    for name in sys.argv[2:]:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or each fork's first collection would copy all of torch's objects
    program = _serve(control)
    if program is not None:
        torch.default_generator.seed()  # what each interpreter draws for itself
        numpy.random.seed()
        _execute(program)
