# SPDX-License-Identifier: GPL-3.0-or-later
"""Signs what the agents of the nodes ask for: once, and again and again while a run waits for their pods. What one request is like stops no other."""

from __future__ import annotations

import contextlib
import datetime
import threading
import typing as t

from .._agent.process import as_ovn_error
from .._api.names import Object
from .._base.deadline import Deadline
from .._base.errors import CertificateProblem, Conflict, OvnError, Refused, TimedOut, Unreachable
from .._kubernetes.client import Cluster
from .._kubernetes.wait_tracker import Progress
from .._manifests.ca_bundle import ISSUER_VARIABLE, environment_of
from .._manifests.hypervisors import CONTROLLER
from .._pki.chassis_requests import AskingNode, RequestDecision, judge_requests, without_floods
from .certificates import agents_user, carry_out, list_requests, pair_of_chassis
from .chassis_names import renewable_names
from .desired import DesiredHypervisors
from .nodes import matches
from .observed_state import ObservedHypervisors
from .plan import MOST_LISTED, HypervisorPlan
from .settings import confirmed_names, recorded_nodes
from .southbound import Registry, check_access

_PAUSE = 2.0  # seconds between two looks while a run waits
_PATIENCE = 5.0  # seconds for one relay to answer
_PROBE = "c5c3-ovn-run"  # the name of no chassis
_NO_KEY = (
    "This run has no key of the CA of the chassis. Give it one (signer.private_key, ovn_pki_chassis_ca.private_key), or have the request signed by the program "
    "that has it."
)


def asking_nodes(plan: HypervisorPlan) -> dict[str, AskingNode]:
    """Return the nodes that may ask for certificates."""
    problems = plan.certified.problems if plan.certified else {}
    return {
        one.node.name: AskingNode(one.node.uid, one.system_id, problems.get(one.node.name, "")) for one in plan.chassis
    }


class NodeSigning:
    """What a run does about the requests of its nodes. It appends steps to `progress`; warnings come with `report`.

    Another run may do the same at any time: what that one has decided is left alone.
    """

    def __init__(self, cluster: Cluster, desired: DesiredHypervisors, progress: Progress, *, check_mode: bool) -> None:
        self.cluster, self.desired, self.progress, self.check_mode = cluster, desired, progress, check_mode
        self._let_in = False
        self._denied: dict[str, RequestDecision] = {}
        # As of the last look
        self._waiting: list[RequestDecision] = []
        self._failures: dict[str, OvnError] = {}
        self._error: OvnError | None = None

    def check_authority(self) -> None:
        """Raise `InvalidInput` if the CA has ended; warn if that is near."""
        if self.desired.signer is not None:
            warning = self.desired.signer.check(datetime.datetime.now(datetime.timezone.utc))
            if warning:
                self.progress.warn(warning)

    def check_relays(self) -> str:
        """Return why no relay was asked, empty if one lets in what the CA signs; `Refused` if one does not: nodes would lose their connection to it.

        Relays that do not answer say nothing about the CA.
        """
        signer = self.desired.signer
        if signer is None or self._let_in:
            return ""
        causes = []
        with pair_of_chassis(signer, _PROBE, self.desired.directory) as pair:
            tls = pair._replace(ca_certificate=self.desired.tls.ca_certificate)
            for endpoint in self.desired.asked:
                try:
                    check_access([endpoint], tls, Deadline(_PATIENCE))
                except (Unreachable, TimedOut) as e:
                    causes.append(str(e))
                except CertificateProblem as e:
                    raise Refused(
                        f"A server of the Southbound database, {endpoint}, does not let in certificates of the CA that signs for nodes ({signer.name}), so "
                        f"with tls.nodeCertificates own no node could connect to it: {e} Run c5c3.ovn.central first, whose relays let that CA in; they need "
                        "TLS and a role for chassis (ovn_southbound_rbac). If certificates come from elsewhere, give ovn_pki_chassis_ca.certificate the CA "
                        "that relays let in. Nothing was changed."
                    ) from e
                else:
                    self._let_in = True
        if self._let_in:
            return ""
        return (
            f"No server of the Southbound database could be asked whether it lets in certificates of the CA that signs for nodes ({signer.name}): "
            f"{' '.join(causes[:MOST_LISTED])} Give this control node access to the endpoints in southbound, then run again."
        )

    def sign(self, plan: HypervisorPlan, *, current: bool = True) -> None:
        """Sign or deny each request that waits, in check mode only say so. `current`: the nodes were read just now. Nothing is done without a key."""
        self._deal_with(asking_nodes(plan), current=current)

    def renew(self, observed: ObservedHypervisors, registry: Registry | None) -> int:
        """Sign for nodes that are as they were, and return for how many: there is no plan, but what one node says must not end all certificates.

        With another CA than the pods name, that is not known to be safe.
        """
        workload, confirmed = observed.daemon_set(CONTROLLER), confirmed_names(observed.settings)
        issuer = environment_of(workload or {}).get(ISSUER_VARIABLE)
        if self.desired.signer is None or not confirmed or issuer != self.desired.issuer:
            return 0
        hypervisors = [
            node for node in observed.nodes if matches(node.labels, self.desired.spec.controller.node_selector)
        ]
        names = renewable_names(
            hypervisors,
            confirmed,
            recorded_nodes(observed.settings),
            registry,
            observed.owner,
            self.desired.other_chassis,
        )
        nodes = {node.name: AskingNode(node.uid, names[node.name]) for node in hypervisors if node.name in names}
        before = len(self.progress.steps)
        self._deal_with(nodes, current=False, workload=workload)
        return len(self.progress.steps) - before

    def _deal_with(self, nodes: t.Mapping[str, AskingNode], *, current: bool, workload: Object | None = None) -> None:
        requests = {one["metadata"]["name"]: one for one in list_requests(self.cluster)}
        decisions = judge_requests(
            requests.values(),
            account=agents_user(self.desired.spec, self.desired.namespace, workload),
            nodes=nodes,
            current=current,
        )
        authority, failures = self.desired.signer, dict[str, OvnError]()
        self._waiting = [one for one in decisions if one.verdict == "wait" or authority is None]
        for one in without_floods(decisions):
            if authority is None:
                break
            try:
                if not self.check_mode:
                    carry_out(self.cluster, requests[one.name], one, authority)
            except Conflict:
                continue
            except Exception as e:  # one request must not keep others from their certificates
                error = as_ovn_error(e)
                if error.details.get("http_status") != 404:  # its agent has asked again
                    failures[one.name] = error
                continue
            if one.verdict == "sign":
                self.progress.steps.append(f"sign the certificate of chassis {one.chassis}")
            else:
                self._denied[one.name] = one
                self.progress.steps.append(f"deny CertificateSigningRequest {one.name}")
        self._failures = failures

    @contextlib.contextmanager
    def running(self, plan: HypervisorPlan, plan_again: t.Callable[[], HypervisorPlan]) -> t.Iterator[None]:
        """Sign in a thread of its own as pods ask, while the run waits for them: the next node is updated when the last one is ready.

        Nodes may join meanwhile, or be installed again: when such a one asks, there is another plan.
        """
        stopped = threading.Event()

        def loop() -> None:
            latest, known = plan, frozenset[str]()
            while not stopped.is_set():
                unknown = frozenset(one.name for one in self._waiting if one.is_of_unknown_node)
                if unknown - known:
                    known = unknown
                    # With an error these requests wait, and are reported as such; the others go on.
                    with contextlib.suppress(OvnError):
                        latest = plan_again()
                try:
                    self.sign(latest, current=False)
                    self._error = None
                except Exception as e:  # also for a bug: the thread must go on
                    self._error = as_ovn_error(e)
                stopped.wait(_PAUSE)

        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()

    def problems(self) -> list[str]:
        """Return why requests have got no certificate, as of the last look."""
        found = [f"The requests for certificates could not be read: {self._error}"] if self._error else []
        found += [f"CertificateSigningRequest {name} was not dealt with: {e}" for name, e in self._failures.items()]
        found += [
            f"CertificateSigningRequest {one.name} waits: {_NO_KEY if one.verdict != 'wait' else one.reason}"
            for one in self._waiting
        ]
        return _shortened(found)

    def report(self) -> None:
        """Warn of what was denied and of what waits."""
        done = "would be denied" if self.check_mode else "was denied"
        denied = [f"CertificateSigningRequest {one.name} {done}: {one.reason}" for one in self._denied.values()]
        for message in [*_shortened(denied), *self.problems()]:
            self.progress.warn(message)

    def check(self) -> None:
        """Raise `Refused` if the API server does not let this user sign: the certificates of all nodes would end."""
        for name, error in self._failures.items():
            if error.details.get("http_status") == 403:
                raise Refused(f"CertificateSigningRequest {name} was not dealt with: {error}", **error.details)


def _shortened(messages: list[str]) -> list[str]:
    more = len(messages) - MOST_LISTED
    return (
        messages if more <= 0 else [*messages[:MOST_LISTED], f"{more} more CertificateSigningRequests are like that."]
    )
