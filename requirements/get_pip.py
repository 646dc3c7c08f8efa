"""Stand-in for the get-pip script that ansible-test would fetch from a host other than PyPI.

It installs pip with the pip wheel that lies beside it. Its name carries pip's version: get_pip_24_2.py.
"""

import os
import runpy
import sys

folder, name = os.path.split(os.path.abspath(__file__))
version = name[len("get_pip_") : -len(".py")].replace("_", ".")
sys.path.insert(0, os.path.join(folder, f"pip-{version}-py3-none-any.whl"))
sys.argv[1:] = ["install", "--upgrade"] + [a for a in sys.argv[1:] if a not in ("--no-setuptools", "--no-wheel")]
runpy.run_module("pip", run_name="__main__", alter_sys=True)
