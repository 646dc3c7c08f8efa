# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubeconfigs of the control node that are in a vault, as the action plug-ins of kubernetes.core read them."""

from __future__ import annotations

import os
import typing as t

from ansible.plugins.action.normal import ActionModule as Normal


def decrypted_kubeconfig(loader: t.Any, kubeconfig: t.Any) -> t.Any:
    """Return the path of a copy without encryption, which ends with the task, or the file's own path if it has none; what is no file, as it is."""
    path = os.path.expanduser(os.path.expandvars(kubeconfig)) if isinstance(kubeconfig, str) else ""
    return str(loader.get_real_file(os.path.abspath(path), decrypt=True)) if os.path.isfile(path) else kubeconfig


class KubeconfigAction(Normal):
    """Run a module as usual. If it runs on the control node, the file named as its `kubeconfig` may be in a vault."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        arguments: dict[str, t.Any] = self._task.args
        if arguments.get("kubeconfig") and self._connection.transport == "local":
            arguments["kubeconfig"] = decrypted_kubeconfig(self._loader, arguments["kubeconfig"])
        run_module: t.Callable[..., dict[str, t.Any]] = super().run
        return run_module(tmp, task_vars)
