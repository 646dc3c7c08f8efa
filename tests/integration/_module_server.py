"""Runs modules of the collection in processes of their own that are forked from one that has loaded the libraries.

A module spends most of its processor time on importing Ansible and the Kubernetes client, which hundreds of tests would do hundreds of times. Each call is a
new process all the same: it imports the code under test itself, with its own standard streams, environment and working directory.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import typing as t

PACKAGE = "ansible_collections.c5c3.ovn.plugins.modules"
# The holder of a Lease is the oldest of forked processes, as Ansible forks its workers; here that would be the server, which does not end.
STARTED_ALONE = ("ovn_hypervisors",)
_LIBRARIES = ("ansible.module_utils.basic",)
_OF_KUBERNETES = (
    "jsonschema",
    "kubernetes.dynamic",
    "kubernetes.stream.ws_client",
    "ansible_collections.kubernetes.core.plugins.module_utils.k8s.client",
)


@dataclasses.dataclass(frozen=True)
class Done:
    """What one call printed."""

    stdout: str
    stderr: str


class ModuleServers:
    """As many servers as there are calls at the same time: tests also let two runs meet."""

    def __init__(self, collection_path: str) -> None:
        self._collection_path = collection_path
        self._idle: list[_ModuleServer] = []
        self._all: list[_ModuleServer] = []

    def run(self, name: str, arguments: dict[str, t.Any], timeout: float) -> Done:
        """Run the module with these arguments; `TimeoutExpired` if it takes longer than `timeout` seconds, and then it is killed."""
        try:
            server = self._idle.pop()
        except IndexError:
            server = _ModuleServer(self._collection_path)
            self._all.append(server)
        try:
            return server.run(name, arguments, timeout)
        finally:
            self._idle.append(server)

    def processor_seconds(self) -> float:
        """What all calls have spent until now: the servers' own processes end with the tests."""
        return sum(server.processor_seconds for server in self._all)

    def close(self) -> None:
        for server in self._all:
            server.close()


class _ModuleServer:
    """One process that forks, started with the first call."""

    def __init__(self, collection_path: str) -> None:
        self._paths = os.pathsep.join([collection_path, *filter(None, [os.environ.get("PYTHONPATH")])])
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self.processor_seconds = 0.0

    def run(self, name: str, arguments: dict[str, t.Any], timeout: float) -> Done:
        channel = self._channel()
        with contextlib.ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _stream in range(3)]
            files[0].write(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}).encode())
            files[0].seek(0)
            call = {
                "name": name,
                "libraries": _OF_KUBERNETES if "kubeconfig" in arguments else (),
                "environment": {**os.environ, "PYTHONPATH": self._paths},
                "directory": os.getcwd(),
            }
            socket.send_fds(channel, [json.dumps(call).encode()], [file.fileno() for file in files])
            channel.settimeout(max(30, timeout))  # a busy machine also loads the libraries slowly
            child = int(channel.recv(64))
            channel.settimeout(timeout)
            try:
                self.processor_seconds += float(channel.recv(64))
            except TimeoutError as e:
                os.kill(child, signal.SIGKILL)
                channel.settimeout(30)
                channel.recv(64)
                raise subprocess.TimeoutExpired(name, timeout) from e
            texts = []
            for file in files[1:]:
                file.seek(0)
                texts.append(file.read().decode())
        return Done(*texts)

    def close(self) -> None:
        if self._socket is not None and self._process is not None:
            self._socket.close()
            self._process.wait(timeout=30)

    def _channel(self) -> socket.socket:
        if self._socket is None:
            self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, __file__, str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    env={**os.environ, "PYTHONPATH": self._paths},
                )
        return self._socket


def _load(libraries: t.Iterable[str]) -> None:
    for library in libraries:
        with contextlib.suppress(ImportError):  # the module says what is missing
            __import__(library)


def _run(call: dict[str, t.Any], descriptors: list[int]) -> t.NoReturn:
    """The forked process: it becomes what `python -m MODULE` would be."""
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    os.closerange(3, 64)
    os.environ.clear()
    os.environ.update(call["environment"])
    os.chdir(call["directory"])
    code = 1
    try:
        sys.argv = [call["name"]]
        runpy.run_module(f"{PACKAGE}.{call['name']}", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as e:
        code = e.code if isinstance(e.code, int) else int(e.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _serve(channel: socket.socket) -> None:
    """One call after the other, until the tests have closed their end."""
    _load(_LIBRARIES)
    while True:
        message, descriptors, _flags, _address = socket.recv_fds(channel, 1 << 18, 3)
        if not message:
            return
        call = json.loads(message)
        _load(call["libraries"])
        child = os.fork()
        if not child:
            _run(call, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        channel.send(str(child).encode())
        _pid, _status, usage = os.wait4(child, 0)
        channel.send(str(usage.ru_utime + usage.ru_stime).encode())


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
