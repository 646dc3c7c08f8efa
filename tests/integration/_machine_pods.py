"""The pods of a DaemonSet in a machine, as its node would run them: each container under runc, with the files, rights and limits of the template.

Kubelet's part is done by shell commands, which the tests run on the machine. What a container runtime adds by itself (its filter of system calls, probes of
liveness, the image's own files in /etc) is left out.
"""

from __future__ import annotations

import base64
import json
import shlex
import typing as t

Object = dict[str, t.Any]

FOLDER = "/run/pods"
IMAGE = f"{FOLDER}/image"  # a file tree, mounted there
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_UNITS = {"m": 0.001, "": 1, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
# What containerd gives a pod in the network of its node.
_MOUNTS = [
    ("proc", "/proc", "proc", []),
    ("tmpfs", "/dev", "tmpfs", ["nosuid", "strictatime", "mode=755", "size=65536k"]),
    ("devpts", "/dev/pts", "devpts", ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"]),
    ("shm", "/dev/shm", "tmpfs", ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]),
    ("mqueue", "/dev/mqueue", "mqueue", ["nosuid", "noexec", "nodev"]),
    ("sysfs", "/sys", "sysfs", ["nosuid", "noexec", "nodev", "ro"]),
]
_MASKED = ["/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/sys/firmware"]
_READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]


def quantity(text: str) -> float:
    number = text.rstrip("".join(_UNITS))
    return float(number) * _UNITS[text[len(number) :]]


class MachinePod:
    """`spec` is that of the template; `objects` are ConfigMaps and Secrets by name; `fields` what the downward API tells."""

    def __init__(self, name: str, spec: Object, objects: t.Mapping[str, Object], fields: t.Mapping[str, str]) -> None:
        self.name, self.spec, self._objects, self._fields = name, spec, objects, fields
        self.containers = [one["name"] for one in spec["containers"]]
        assert spec["hostNetwork"], "other pods are not translated"
        assert "initContainers" not in spec

    @property
    def create(self) -> str:
        """The command for folders, files and the settings of the runtime; those of the node may exist."""
        lines = [f"mkdir -p {IMAGE}"]
        for one in self.spec["volumes"]:
            place = self._place(one)
            lines.append(f"mkdir -p {place}")
            for path, content, mode in self._files(one):
                lines.append(
                    f"echo {base64.b64encode(content).decode()} | base64 -d >{place}/{path}; chmod {mode:o} {place}/{path}"
                )
        for container in self.spec["containers"]:
            bundle = f"{FOLDER}/{self.name}/{container['name']}"
            config = json.dumps(self._config(container))
            lines.append(
                f"mkdir -p {bundle}/upper {bundle}/work {bundle}/rootfs; echo {shlex.quote(config)} >{bundle}/config.json"
            )
            lines.append(f"mountpoint -q {bundle}/rootfs || {self._root(bundle)}")
        return "\n".join(lines)

    def start(self, *containers: str) -> str:
        commands = [
            f"runc delete -f {self.name}-{one} 2>/dev/null; cd {FOLDER}/{self.name}/{one} && runc run -d {self.name}-{one} </dev/null >>log 2>&1"
            for one in containers or self.containers
        ]
        return "; ".join(f"{{ {one}; }} || exit 1" for one in commands)

    @property
    def stop(self) -> str:
        """The hooks, then the signal, then patience; for all containers at once."""
        grace = self.spec["terminationGracePeriodSeconds"]
        ends = []
        for one in self.spec["containers"]:
            name = f"{self.name}-{one['name']}"
            hook = one.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command")
            hooks = (
                f"timeout {grace} runc exec {name} {shlex.join(hook)} || echo hook of {name} failed >>{FOLDER}/hooks; "
                if hook
                else ""
            )
            ends.append(f"{{ {hooks}runc kill {name} TERM; {self._await_end(name, grace)}; }} 2>/dev/null &")
        return "\n".join([*ends, "wait"])

    def _await_end(self, name: str, grace: int) -> str:
        ended = f'[ "$(runc state {name} | sed -n \'s/.*"status": "\\(.*\\)".*/\\1/p\')" != running ]'
        return f"for i in $(seq {grace * 5}); do {ended} && break; sleep 0.2; done; runc delete -f {name}"

    @property
    def replace(self) -> str:
        """A new pod takes the place of this one: what an update of the DaemonSet does. It has nothing of what the old one had in emptyDir."""
        empty = " ".join(f"{self._place(one)}/*" for one in self.spec["volumes"] if "emptyDir" in one)
        return f"{self.stop}\nrm -rf {empty}\nsleep 1\n{self.start()}"

    def kill(self, *containers: str) -> str:
        """Everything in the containers is killed at once; kubelet starts them again."""
        return "\n".join(
            [*(f"runc kill {self.name}-{one} KILL" for one in containers), "sleep 0.5", self.start(*containers)]
        )

    @property
    def ready(self) -> str:
        """Wait until all are ready."""
        probes = [
            f"runc exec {self.name}-{one['name']} {shlex.join(one['readinessProbe']['exec']['command'])}"
            for one in self.spec["containers"]
        ]
        probe, folder = " && ".join(probes), f"{FOLDER}/{self.name}"
        return f"for i in $(seq 150); do {{ {probe}; }} >{folder}/ready 2>&1 && exit; sleep 0.4; done; tail -n 20 {folder}/*/log {folder}/ready; exit 1"

    def _place(self, volume: Object) -> str:
        return volume["hostPath"]["path"] if "hostPath" in volume else f"{FOLDER}/{self.name}/volumes/{volume['name']}"

    def _files(self, volume: Object) -> t.Iterator[tuple[str, bytes, int]]:
        kind = next((one for one in ("configMap", "secret") if one in volume), None)
        if kind is None:
            assert volume.keys() & {"hostPath", "emptyDir"}, volume
            return
        source = volume[kind]
        of = self._objects[source.get("name") or source["secretName"]]
        encoded = {**(of.get("binaryData") or {}), **(of.get("data") or {} if kind == "secret" else {})}
        content = {key: base64.b64decode(text) for key, text in encoded.items()}
        if kind == "configMap":
            content.update((key, text.encode()) for key, text in of["data"].items())
        for item in source.get("items") or [{"key": key, "path": key} for key in content]:
            yield item["path"], content[item["key"]], source["defaultMode"]

    def _value(self, variable: Object) -> str | None:
        if "value" in variable:
            return t.cast(str, variable["value"])
        source = variable["valueFrom"]
        if "fieldRef" in source:
            return self._fields[source["fieldRef"]["fieldPath"]]
        of = source["configMapKeyRef"]
        return t.cast("str | None", self._objects[of["name"]]["data"].get(of["key"]))

    def _config(self, container: Object) -> Object:
        """Return what runc has to know (config.json of the OCI runtime specification)."""
        rights, limits = container["securityContext"], container["resources"].get("limits", {})
        assert rights["capabilities"]["drop"] == ["ALL"]
        assert not rights.get("privileged")
        capabilities = [f"CAP_{one}" for one in rights["capabilities"].get("add", [])]
        values = [(one["name"], self._value(one)) for one in container["env"]]
        volumes = {one["name"]: self._place(one) for one in self.spec["volumes"]}
        binds = [
            (
                volumes[one["name"]],
                one["mountPath"],
                "bind",
                ["rbind", "rprivate", "ro" if one.get("readOnly") else "rw"],
            )
            for one in container["volumeMounts"]
        ]
        resources: Object = {"devices": [{"allow": False, "access": "rwm"}]}
        if "memory" in limits:
            resources["memory"] = {"limit": int(quantity(limits["memory"]))}
        if "cpu" in limits:
            resources["cpu"] = {"period": 100000, "quota": int(quantity(limits["cpu"]) * 100000)}
        return {
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": self.spec["securityContext"]["runAsUser"], "gid": 0},
                "args": [*container["command"], *container.get("args", [])],
                "env": [f"PATH={_PATH}", *(f"{name}={value}" for name, value in values if value is not None)],
                "cwd": "/",
                "capabilities": dict.fromkeys(("bounding", "effective", "permitted"), capabilities),
                "noNewPrivileges": not rights["allowPrivilegeEscalation"],
            },
            "root": {"path": "rootfs", "readonly": rights["readOnlyRootFilesystem"]},
            "mounts": [
                {"source": source, "destination": destination, "type": kind, "options": options}
                for source, destination, kind, options in [*_MOUNTS, *binds]
            ],
            "linux": {
                "namespaces": [{"type": kind} for kind in ("pid", "ipc", "mount", "cgroup")],
                "cgroupsPath": f"/kubepods/{self.name}/{container['name']}",
                "resources": resources,
                "maskedPaths": _MASKED,
                "readonlyPaths": _READ_ONLY,
            },
        }

    def _root(self, bundle: str) -> str:
        return f"mount -t overlay overlay -o lowerdir={IMAGE},upperdir={bundle}/upper,workdir={bundle}/work {bundle}/rootfs"
