"""Settings of Sphinx for the documentation; `build.py` copies this file beside the pages and runs Sphinx there."""

import re

from docutils import nodes

project = "c5c3.ovn"
author = "C5C3 contributors"
project_copyright = author
extensions = ["myst_parser", "sphinx_antsibull_ext"]
html_theme = "alabaster"
html_theme_options = {
    "description": "OVN under OpenStack, on machines and on Kubernetes",
    "page_width": "1160px",
    "sidebar_width": "260px",
}
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
html_show_sphinx = False
html_copy_source = False
# Links between pages name headings as GitHub does.
myst_heading_anchors = 4

# Where Ansible documents what our modules refer to. Nothing is fetched: a label without a line here is an error.
ANSIBLE = "https://docs.ansible.com/ansible/latest"
ELSEWHERE = {
    r"common_return_values": "reference_appendices/common_return_values.html",
    r"action_plugins": "plugins/action.html",
    r"ansible_configuration_settings": "reference_appendices/config.html",
    r"ansible_collections\.(?!c5c3\.ovn\.)(\w+)\.(\w+)\.(\w+)": r"collections/\1/\2/\3.html",
}


def link_to_ansible(app, env, node, content):
    """Return a link to Ansible's own documentation for a label of it, else None."""
    for label, page in ELSEWHERE.items():
        found = re.fullmatch(label, node["reftarget"])
        if found:
            return nodes.reference("", "", content, refuri=f"{ANSIBLE}/{found.expand(page)}")
    return None


def setup(app):
    app.connect("missing-reference", link_to_ansible)
