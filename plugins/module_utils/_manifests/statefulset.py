# SPDX-License-Identifier: GPL-3.0-or-later
"""The members of one database. Kubernetes starts them all at once and never restarts or removes one by itself: that is done by a run, one after
another, when the others allow it.

The template of the pods holds nothing that changes without need, neither certificates nor the list of members: a changed template means that each
member is restarted.
"""

from __future__ import annotations

from .._api.endpoints import ClientListener
from .._api.names import (
    GROUP,
    MOST_MEMBERS,
    Object,
    database_name,
    labels,
    record_name,
    scripts_name,
    selector,
    witness_name,
)
from .._api.service_accounts import account_of, central_accounts
from .._base.databases import PORTS, STEMS, Database
from .._base.deadline import STOP_SECONDS
from .._raft.launcher_environment import LauncherSettings, launcher_environment
from . import pods
from .config import ManifestContext
from .relay import has_relay, relay_container, relay_directories

_DATA, _RECORD = "/data", "/record"
# Not the annotation of `kubectl rollout restart`, which has an owner of its own and makes a restart due as well.
RESTARTED_AT = f"{GROUP}/restarted-at"


def stateful_set(context: ManifestContext, database: Database) -> Object:
    name = database_name(context.name, database)
    return context.manifest(
        "apps/v1",
        "StatefulSet",
        name,
        database,
        spec={
            "serviceName": name,
            "replicas": context.replicas[database],
            # All at once: after a total outage none of them becomes ready alone.
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            "selector": {"matchLabels": selector(context.name, database)},
            "template": {"metadata": _metadata(context, database), "spec": _pod(context, database)},
            "volumeClaimTemplates": [_claim(context, database)],
        },
    )


def _metadata(context: ManifestContext, database: Database) -> Object:
    restarted_at = context.spec.database(database).restarted_at
    annotations = {} if restarted_at is None else {"annotations": {RESTARTED_AT: restarted_at}}
    return {"labels": labels(context.name, database), **annotations}


def _pod(context: ManifestContext, database: Database) -> Object:
    spec = context.spec.database(database)
    mine = selector(context.name, database)
    relay = database == "southbound" and has_relay(context)
    shared = [
        pods.from_config_map("scripts", scripts_name(context.name), pods.SCRIPTS),
        *pods.certificates(context.spec, database),
    ]
    directories = [
        pods.empty("run", pods.RUN),
        pods.empty("tmp", pods.TEMPORARY),
        # The launcher reads how new the file has to be from the same directory: it outlives the pod, and observer and runs write it.
        pods.from_config_maps(
            "record", record_name(context.name, database), witness_name(context.name, database), _RECORD
        ),
        *shared,
    ]
    of_relay = relay_directories(context) if relay else []
    pod: Object = {
        "serviceAccountName": account_of(central_accounts(context.spec), database),
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **pods.scheduling(context.spec, context.spec.priority_class_name),
        "securityContext": pods.pod_security(),
        "terminationGracePeriodSeconds": STOP_SECONDS,
        "affinity": pods.apart(mine, required=True),
        "topologySpreadConstraints": pods.spread(mine),
        **pods.tolerations(spec.tolerations),
        "containers": [_member(context, database, [mount for _volume, mount in directories])],
        "volumes": [volume for volume, _mount in [*directories, *of_relay]],
    }
    if relay:
        pod["initContainers"] = [relay_container(context, [mount for _volume, mount in [*of_relay, *shared]])]
    if spec.node_selector:
        pod["nodeSelector"] = dict(spec.node_selector)
    return pod


def _claim(context: ManifestContext, database: Database) -> Object:
    storage = context.spec.database(database).storage
    spec: Object = {
        "accessModes": ["ReadWriteOnce"],
        "volumeMode": "Filesystem",
        "resources": {"requests": {"storage": storage.size}},
    }
    if storage.storage_class is not None:
        spec["storageClassName"] = storage.storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "labels": labels(context.name, database)},
        "spec": spec,
    }


def _member(context: ManifestContext, database: Database, mounts: list[Object]) -> Object:
    ports = PORTS[database]
    launcher = f"{pods.SCRIPTS}/{pods.LAUNCHER}"
    own = ports.for_clients
    if database == "southbound" and has_relay(context):
        del own["client"]
    environment = launcher_environment(_launcher_settings(context, database))
    alive, ready = ["sh", launcher, "alive"], ["sh", launcher, "ready"]
    return pods.container(
        "database",
        context.spec.ovn_image,
        ["sh", launcher, "run"],
        context.spec.database(database).resources,
        env=[pods.field("OVN_MEMBER", "metadata.name"), *pods.environment(environment)],
        ports=[_port(*one) for one in {**own, "raft": ports.raft}.items()],
        volumeMounts=[{"name": "data", "mountPath": _DATA}, *mounts],
        # Ten minutes: reading or receiving a big database takes its time; a joiner that is killed meanwhile leaves a file that never starts.
        # Asked often, because no other probe begins before this one has passed.
        startupProbe=pods.probe(alive, period=2, failures=300, timeout=10),
        # Never about leader, quorum or peers: a restart mends none of them and can cost the member.
        livenessProbe=pods.probe(alive, period=30, failures=10, timeout=10),
        readinessProbe=pods.probe(ready, period=5, failures=3, timeout=5),
        # Transfers the leadership. A hook that fails would only cause a misleading event.
        lifecycle={"preStop": {"exec": {"command": ["sh", "-c", f"sh {launcher} stop || true"]}}},
    )


def _launcher_settings(context: ManifestContext, database: Database) -> LauncherSettings:
    ports, name = PORTS[database], database_name(context.name, database)
    scheme = "ssl" if context.spec.tls.enabled else "tcp"
    listeners: tuple[ClientListener, ...] = ("unrestricted",)
    if ports.client != ports.unrestricted:
        listeners = ("unrestricted", "client")
    return LauncherSettings(
        database=database,
        member="",  # a field of the pod
        local_address=f"{scheme}:$(OVN_MEMBER).{name}.{context.namespace}.svc.{context.cluster_domain}:{ports.raft}",
        record_directory=_RECORD,
        database_file=f"{_DATA}/{STEMS[database]}.db",
        run_directory=pods.RUN,
        state_directory=f"{pods.RUN}/launcher",
        # All members that can ever exist, so that a change of the size restarts none. A name that does not exist gives no answer. At all ports: a file
        # from before there were relays may know the port of chassis alone. A relay there forbids nothing.
        client_endpoints=[
            endpoint for listener in listeners for endpoint in context.first_endpoints(database, MOST_MEMBERS, listener)
        ],
        # Off the disk of the database. It ends with the pod; what is in the directory of the record stays.
        witness_file=f"{pods.RUN}/witness-{database}",
        # The log goes where the node rotates it; a file in the pod would grow for ever.
        console=True,
        tls=pods.tls_files(context.spec.tls.enabled),
        ciphers=context.spec.tls.ciphers,
    )


def _port(name: str, number: int) -> Object:
    return {"name": name, "containerPort": number, "protocol": "TCP"}
