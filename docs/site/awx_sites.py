"""What AWX needs beside templates: credential types, execution environment, projects, inventory, notification.

A resource with `only_with` is left out if that value is empty.
"""

from __future__ import annotations

from typing import Any

ORGANIZATION = "{{ ovn_awx_organization }}"
CA_FIELDS = (
    ("ca_certificate", "CA certificate", "PEM. ovn_pki_ca.certificate", False, True),
    ("ca_private_key", "CA private key", "PEM. ovn_pki_ca.private_key", True, True),
    ("ca_passphrase", "Passphrase of the CA", "Empty without one. ovn_pki_ca.private_key_passphrase", True, False),
    ("ca_bundle_extra", "Further CA certificates", "PEM, empty without any. ovn_pki_ca.bundle_extra", False, True),
    ("chassis_ca_certificate", "Chassis CA certificate", "PEM. ovn_pki_chassis_ca.certificate", False, True),
    ("chassis_ca_private_key", "Chassis CA private key", "PEM. ovn_pki_chassis_ca.private_key", True, True),
    (
        "chassis_ca_passphrase",
        "Passphrase of the chassis CA",
        "Empty if it is that of the CA. ovn_pki_chassis_ca.private_key_passphrase",
        True,
        False,
    ),
    (
        "chassis_ca_bundle_extra",
        "Further chassis CA certificates",
        "PEM, empty without any. ovn_pki_chassis_ca.bundle_extra",
        False,
        True,
    ),
)
REQUIRED_CA_FIELDS = ["ca_certificate", "ca_private_key", "chassis_ca_certificate", "chassis_ca_private_key"]


def credential_types(mark: str) -> list[dict[str, Any]]:
    """One type for the clusters, one for the CAs. SSH keys and Ansible Vault have types of AWX: Machine and Vault."""
    kubeconfig = {
        "id": "kubeconfig",
        "type": "string",
        "label": "Kubeconfig",
        "help_text": "One file with a context for each cluster; ovn_context of a host says which is its own.",
        "multiline": True,
        "secret": True,
    }
    fields = [
        {
            "id": name,
            "type": "string",
            "label": label,
            "help_text": text,
            "secret": secret,
            **({"multiline": True} if multiline else {}),
        }
        for name, label, text, secret, multiline in CA_FIELDS
    ]
    return [
        {
            "name": "OVN Kubernetes clusters",
            "description": f"Kubeconfig of the control plane and the hypervisor clusters {mark}",
            "kind": "cloud",
            "inputs": {"fields": [kubeconfig], "required": ["kubeconfig"]},
            "injectors": {
                "file": {"template.kubeconfig": "{{ kubeconfig }}"},
                "env": {"K8S_AUTH_KUBECONFIG": "{{ tower.filename.kubeconfig }}"},
            },
        },
        {
            "name": "OVN certificate authorities",
            "description": f"Certificates and keys of both CAs {mark}",
            "kind": "cloud",
            "inputs": {"fields": fields, "required": REQUIRED_CA_FIELDS},
            "injectors": {
                "extra_vars": {
                    "ovn_pki_ca": {
                        "certificate": "{{ ca_certificate }}",
                        "private_key": "{{ ca_private_key }}",
                        "private_key_passphrase": "{{ ca_passphrase | default('') }}",
                        "bundle_extra": "{{ ca_bundle_extra | default('') }}",
                    },
                    "ovn_pki_chassis_ca": {
                        "certificate": "{{ chassis_ca_certificate }}",
                        "private_key": "{{ chassis_ca_private_key }}",
                        "private_key_passphrase": "{{ chassis_ca_passphrase | default(ca_passphrase | default(''), true) }}",
                        "bundle_extra": "{{ chassis_ca_bundle_extra | default('') }}",
                    },
                }
            },
        },
    ]


def projects(name: str, mark: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "description": f"Playbooks of the collection {mark}",
            "organization": ORGANIZATION,
            "scm_type": "git",
            "scm_url": "{{ ovn_awx_project.url }}",
            "scm_branch": "{{ ovn_awx_project.branch }}",
            "credential": "{{ ovn_awx_project.credential }}",
            "scm_clean": True,
        },
        {
            "name": f"{name} inventory",
            "description": f"Repository of the inventory {mark}",
            "only_with": "{{ ovn_awx_inventory.url }}",
            "organization": ORGANIZATION,
            "scm_type": "git",
            "scm_url": "{{ ovn_awx_inventory.url }}",
            "scm_branch": "{{ ovn_awx_inventory.branch }}",
            "credential": "{{ ovn_awx_inventory.credential }}",
            "scm_clean": True,
            "scm_update_on_launch": True,
        },
    ]


def resources(name: str, mark: str) -> dict[str, list[dict[str, Any]]]:
    """Return the lists of each kind."""
    return {
        "credential_types": credential_types(mark),
        "execution_environments": [
            {
                "name": name,
                "description": f"ansible-core, the collection and its libraries {mark}",
                "organization": ORGANIZATION,
                "image": "{{ ovn_awx_image }}",
                "pull": "{{ ovn_awx_image_pull }}",
            }
        ],
        "projects": projects(name, mark),
        "inventories": [
            {"name": name, "description": f"Central hosts and hypervisors {mark}", "organization": ORGANIZATION}
        ],
        "inventory_sources": [
            {
                "name": name,
                "description": f"The inventory in its repository {mark}",
                "only_with": "{{ ovn_awx_inventory.url }}",
                "inventory": name,
                "source": "scm",
                "source_project": f"{name} inventory",
                "source_path": "{{ ovn_awx_inventory.path }}",
                "execution_environment": name,
                "update_on_launch": True,
                "overwrite": True,
                "overwrite_vars": True,
            }
        ],
        "notification_templates": [
            {
                "name": name,
                "description": f"Failures and approvals {mark}",
                "only_with": "{{ ovn_awx_notification_url }}",
                "organization": ORGANIZATION,
                "notification_type": "webhook",
                "notification_configuration": {
                    "url": "{{ ovn_awx_notification_url }}",
                    "http_method": "POST",
                    "headers": {},
                    "disable_ssl_verification": False,
                },
            }
        ],
    }
