# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    # The connection to a Kubernetes API server: names, aliases and environment variables are those of kubernetes.core.
    DOCUMENTATION = r"""
options:
  kubeconfig:
    description:
      - The API server is asked from where the module runs, so on the control node C(ansible_connection=local) or C(delegate_to=localhost).
        The Python library C(kubernetes) is needed there.
      - Path of a kubeconfig file there, or its content as a dictionary. Several paths are separated by C(:).
      - If absent, the environment variable E(K8S_AUTH_KUBECONFIG) is used, then the service account of the pod that Ansible runs in,
        then E(KUBECONFIG) or C(~/.kube/config).
    type: raw
  context:
    description:
      - Context of the kubeconfig file, or else E(K8S_AUTH_CONTEXT). If absent, the file's current context.
    type: str
  host:
    description:
      - URL of the API server, for example V(https://192.0.2.1:6443), or else E(K8S_AUTH_HOST).
      - The variable together with O(kubeconfig) or O(context) is refused, because it would silently lead to another cluster.
    type: str
  api_key:
    description:
      - Bearer token of a user or service account, or else E(K8S_AUTH_API_KEY). Together with O(host) no kubeconfig file is needed.
    type: str
  username:
    description:
      - User for HTTP basic authentication, or else E(K8S_AUTH_USERNAME). Only of use where something before the API server understands it.
    type: str
  password:
    description:
      - Password of O(username), or else E(K8S_AUTH_PASSWORD).
    type: str
  validate_certs:
    description:
      - Whether the certificate of the API server has to be valid, or else E(K8S_AUTH_VERIFY_SSL). If absent, as the kubeconfig file says.
    type: bool
    aliases: [verify_ssl]
  ca_cert:
    description:
      - Path of the certificates (PEM) on the control node that the API server's certificate is checked against, or else
        E(K8S_AUTH_SSL_CA_CERT).
    type: path
    aliases: [ssl_ca_cert]
  client_cert:
    description:
      - Path of the client's certificate (PEM) on the control node, or else E(K8S_AUTH_CERT_FILE).
    type: path
    aliases: [cert_file]
  client_key:
    description:
      - Path of the private key (PEM) of O(client_cert) on the control node, or else E(K8S_AUTH_KEY_FILE).
    type: path
    aliases: [key_file]
  proxy:
    description:
      - URL of an HTTP proxy, or else E(K8S_AUTH_PROXY). The variables E(HTTP_PROXY) and E(HTTPS_PROXY) are not read.
    type: str
  no_proxy:
    description:
      - Comma list of hosts, domains, addresses and networks that are reached without O(proxy), or else E(K8S_AUTH_NO_PROXY).
    type: str
  proxy_headers:
    description:
      - Headers that are sent to the proxy.
    type: dict
    suboptions:
      proxy_basic_auth:
        description: C(USER:PASSWORD) for the proxy, or else E(K8S_AUTH_PROXY_HEADERS_PROXY_BASIC_AUTH).
        type: str
      basic_auth:
        description: C(USER:PASSWORD) for HTTP basic authentication, or else E(K8S_AUTH_PROXY_HEADERS_BASIC_AUTH).
        type: str
      user_agent:
        description: Value of the header C(User-Agent), or else E(K8S_AUTH_PROXY_HEADERS_USER_AGENT).
        type: str
  persist_config:
    description:
      - Whether tokens that were refreshed are written back to the kubeconfig file, or else E(K8S_AUTH_PERSIST_CONFIG).
    type: bool
  impersonate_user:
    description:
      - User to act as, or else E(K8S_AUTH_IMPERSONATE_USER). The own user needs the right to impersonate.
      - Commands in pods cannot be run that way; modules that need them fail.
    type: str
  impersonate_groups:
    description:
      - Groups to act as, or else E(K8S_AUTH_IMPERSONATE_GROUPS) as a comma list.
    type: list
    elements: str
"""
