# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of a role's steps: an action plug-in that computes on the control node, and may call modules on the host.

A new step is a file in `plugins/action`, named after role and step, and its documentation beside the modules, `plugins/modules/packages_plan.yml`
(the sanity tests look there; its first line says "(internal)"):

    class ActionModule(RoleAction):
        ROLE = "ovn_packages"                                            # whose meta/argument_specs.yml declares the options
        ARGUMENTS: t.ClassVar[Specification] = {"names": {"type": "list", "required": True}}   # of the task, no options of users

        def step(self) -> dict[str, t.Any]:
            options = self.options(PackagesOptions)                       # a dataclass of `_roles` without defaults
            found = self.call("c5c3.ovn.ovn_packages_info", packages=self.arguments["names"])
            return packages_plan(found, options)

The task registers what `step` returns, and later tasks read nothing else: `register: ovn_packages_plan`, `when: ovn_packages_plan.due`.
An `OvnError` becomes the failure of the task, with its `details` in the result. Whoever decides is a pure function in `module_utils/_roles`;
a step only brings together what that needs:

- `self.options(Dataclass)`: fields by the names of shared variables (`_roles/shared_variables.py:SPECIFICATION`) without `ovn_`, and of options without
  the role's prefix. All options of the role are checked first; each problem is one line of one failure.
- `self.variables`: every other variable of the host as the task sees it, also those of the role and of `vars:`; `self.hostvars[host]` those of any host, as
  a play sees them. Both render a value when it is asked for, return plain data, and name host and variable if it cannot be rendered.
- `self.host`, `self.groups`, `self.check_mode`, `self.arguments`.
- `self.call(module, **arguments)`: the result of a module on the task's host, with the task's connection, `become`, `delegate_to` and check mode. For a host
  that stands for a Kubernetes cluster the control node does not become root, unless the task is delegated. A module that fails, fails the task with its
  result. None is left out of the arguments. A step that calls none runs for unreachable hosts as well. Warnings of all modules that a step calls are
  warnings of the task.
- `self.call_cluster(module, **arguments)`: the same with the kubeconfig of the cluster that the host stands for, and `self.apply_objects(objects)` there.
- `self.write_file(path, content, owner=..., mode=...)`: the same for a file, as ansible.builtin.copy writes it; `hidden=True` for a text with a secret.
- `self._read_file(path)`: the text of a file of the control node.

Secrets: a result is registered, shown with -v and kept in facts. A step returns no key, kubeconfig or passphrase.
"""

from __future__ import annotations

import abc
import contextlib
import os
import pathlib
import typing as t

from ansible.module_utils.common.yaml import yaml_load
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import lookup_loader
from ansible.template import Templar

from ..module_utils._base.errors import OvnError
from ..module_utils._roles.option_types import (
    ClusterAccess,
    Specification,
    check_options,
    misplaced_options,
    option_names,
    options_from,
)
from ..module_utils._roles.rendered import RenderedHosts, RenderedVariables
from ..module_utils._roles.shared_variables import SPECIFICATION as SHARED
from ..module_utils._roles.variables import Groups, Hostvars, Overlaid, Variables, backend_of
from ._kubeconfig import decrypted_kubeconfig

if t.TYPE_CHECKING:
    from ..module_utils._roles.option_types import Options

_ROLES = pathlib.Path(__file__).resolve().parents[2] / "roles"
_LISTS_OF_RESULTS = (
    "warnings",
    "deprecations",
)  # which Ansible prints; beside them it wants facts, for example the interpreter


def _options_of(role: str) -> Specification:
    """Return what a role says of its options."""
    document = yaml_load((_ROLES / role / "meta" / "argument_specs.yml").read_bytes())
    options: Specification = document["argument_specs"]["main"].get("options") or {}
    return options


class RoleAction(ActionBase, abc.ABC):
    """A step of a role, see above."""

    TRANSFERS_FILES = False
    ROLE: t.ClassVar[str]
    ALSO: t.ClassVar[tuple[str, ...]] = ()  # other roles whose options the step reads
    ARGUMENTS: t.ClassVar[Specification] = {}
    _specifications: t.ClassVar[t.Mapping[str, Specification]] = {}
    _hides = False

    def __init_subclass__(cls, **kwargs: t.Any) -> None:
        """Read the options of the role once: Ansible loads the class before it forks a worker for each host."""
        super().__init_subclass__(**kwargs)
        cls._specifications = {role: _options_of(role) for role in (cls.ROLE, *cls.ALSO)}

    @abc.abstractmethod
    def step(self) -> dict[str, t.Any]:
        """Return the result of the task; `changed` is false without it."""

    def run(self, tmp: str | None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        self._task_vars = task_vars or {}
        self._of_modules: dict[str, t.Any] = {"ansible_facts": {}}
        self.host: str = self._task_vars["inventory_hostname"]
        self.groups: Groups = self._task_vars["groups"]
        self.check_mode: bool = self._task.check_mode
        render: t.Callable[[t.Any], t.Any] = self._templar.template
        self.variables: Variables = RenderedVariables(self.host, self._task_vars, render)
        self.hostvars: Hostvars = RenderedHosts(self._task_vars["hostvars"], self._variables_of)
        validate: t.Callable[..., tuple[t.Any, dict[str, t.Any]]] = self.validate_argument_spec
        _valid, self.arguments = validate(self.ARGUMENTS)
        try:
            if backend_of(self.variables) == "kubernetes" and not self._task.delegate_to:
                self._connection.become = (
                    None  # whatever the play says: a cluster is reached as the user who runs Ansible
                )
            own: dict[str, t.Any] = {"changed": False, **self.step()}
        except OvnError as e:
            own = {"changed": False, "failed": True, **e.as_result()}
        warnings = [*self._of_modules.get("warnings", ()), *own.get("warnings", ())]
        of_modules = {name: value for name, value in self._of_modules.items() if value}
        return {**result, **of_modules, **own, **({"warnings": warnings} if warnings else {})}

    def options(self, kind: type[Options], role: str = "", *, alone: bool = False, **given: t.Any) -> Options:
        """Return the dataclass with the options of the role and the shared variables that its fields name. All options of the role are checked.

        Another `role` is one of `ALSO`. What is `given` counts more than variables of that name. With `alone` only what the fields name is checked,
        for a step that runs once for all hosts: another option of the host on which it runs must not stop the others.
        """
        name = role or self.ROLE
        needed = option_names(kind, f"{name}_")
        shared = {option: attributes for option, attributes in SHARED.items() if option in needed}
        own = {
            option: attributes
            for option, attributes in self._specifications[name].items()
            if option in needed or not alone
        }
        values = check_options(self.host, {**shared, **own}, Overlaid(given, self.variables))
        return options_from(kind, values, f"{name}_")

    def misplaced(self, other: type[Options], *own: type[t.Any]) -> list[str]:
        """Return the options of the role that the host has, and that only the `other` backend reads."""
        return misplaced_options(self.options(other), own, self._specifications[self.ROLE], f"{self.ROLE}_")

    def _variables_of(self, host: str) -> RenderedVariables:
        """Return the variables of a host as `hostvars` has them; its own templar gives back what it cannot render, until ansible-core 2.18."""
        variables = self._task_vars["hostvars"].raw_get(host)
        render: t.Callable[[t.Any], t.Any] = Templar(loader=self._loader, variables=variables).template
        return RenderedVariables(host, variables, render)

    def call(self, module: str, **arguments: t.Any) -> dict[str, t.Any]:
        """Return the result of a module on the host of the task; one that fails, fails the task. A file named as `kubeconfig` may be in a vault."""
        execute: t.Callable[..., dict[str, t.Any]] = self._execute_module
        arguments["kubeconfig"] = decrypted_kubeconfig(self._loader, arguments.get("kubeconfig"))
        given = {name: value for name, value in arguments.items() if value is not None}
        return self._accepted(module, execute(module_name=module, module_args=given, task_vars=self._task_vars))

    def write_file(self, path: str, content: str, *, hidden: bool = False, **attributes: t.Any) -> dict[str, t.Any]:
        """Return the result of ansible.builtin.copy on the host of the task, which takes the `attributes`. A `hidden` text is in no log, diff or failure."""
        with self.hidden_arguments() if hidden else contextlib.nullcontext():
            task = self._task.copy()
            task.args = {"dest": path, "content": content, **attributes}
            copy = self._shared_loader_obj.action_loader.get(
                "ansible.legacy.copy",
                task=task,
                connection=self._connection,
                play_context=self._play_context,
                loader=self._loader,
                templar=self._templar,
                shared_loader_obj=self._shared_loader_obj,
            )
            return self._accepted("ansible.builtin.copy", copy.run(task_vars=self._task_vars))

    def _read_file(self, path: str, *, rstrip: bool = True) -> str:
        """Return the text of a file of the control node, decrypted if it is in a vault; empty if there is none."""
        if not os.path.isfile(path):
            return ""
        lookup = lookup_loader.get("ansible.builtin.file", loader=self._loader, templar=self._templar)
        return str(lookup.run([os.path.abspath(path)], variables=self._task_vars, rstrip=rstrip)[0])

    @contextlib.contextmanager
    def hidden_arguments(self) -> t.Iterator[None]:
        """Have no log, diff or failure of what is called inside show its arguments; its result is little more than whether it changed something."""
        task = self._task
        self._task = task.copy()
        self._task.no_log, self._task.diff = True, False
        self._hides = True
        try:
            yield
        finally:
            self._task, self._hides = task, False

    def _accepted(self, module: str, found: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return the result without what is hidden; `OvnError` if the module has failed."""
        if self._hides:
            kept = ("failed", "msg", "changed", "ansible_facts", *_LISTS_OF_RESULTS)
            found = {name: found[name] for name in kept if name in found}
        for name in _LISTS_OF_RESULTS:
            known = self._of_modules.setdefault(name, [])
            known += [one for one in found.get(name) or () if one not in known]
        self._of_modules["ansible_facts"].update(found.get("ansible_facts") or {})
        if found.get("failed"):
            details = {name: value for name, value in found.items() if name not in ("msg", "failed", "invocation")}
            raise OvnError(str(found.get("msg", f"{module} failed without a message")), **details)
        return found

    @staticmethod
    def merged(results: t.Sequence[t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
        """Return whether one of these results of modules changed something, and the differences of all of them, one after the other."""
        return {
            "changed": any(one["changed"] for one in results),
            "diff": [diff for one in results for diff in one.get("diff") or ()],
        }

    def call_cluster(self, module: str, **arguments: t.Any) -> dict[str, t.Any]:
        """Return the result of a module for the Kubernetes cluster that the host stands for."""
        access = self.options(ClusterAccess)
        return self.call(module, kubeconfig=access.kubeconfig or None, context=access.context or None, **arguments)

    def apply_objects(self, objects: t.Sequence[dict[str, t.Any]], **options: t.Any) -> dict[str, t.Any]:
        """Apply objects to that cluster, or delete them with `state="absent"`, and wait until that is done."""
        return self.call_cluster("kubernetes.core.k8s", definition=objects, wait=True, wait_sleep=1, **options)
