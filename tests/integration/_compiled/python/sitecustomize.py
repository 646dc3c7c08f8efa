"""Python reads this at its start, because tests put its folder on PYTHONPATH: what it has compiled from a zip file is kept for the processes after it.

Ansible sends each module as a zip file, which Python compiles again for each task, some hundred files at a time. Kept is the byte code, by the hash of the
source that Python itself trusts for its own caches: a module runs the code that it brings. Without $C5C3_OVN_COMPILED, or where the folder cannot be used,
everything is compiled as always.
"""

import os
import sys

_folder = os.environ.get("C5C3_OVN_COMPILED")
if _folder and "zipimport" in sys.modules and hasattr(sys.modules["zipimport"], "_compile_source"):
    import _imp
    import marshal

    _zipimport = sys.modules["zipimport"]
    _original = _zipimport._compile_source
    # Another version of Python, or of its settings, has other byte code.
    _kind = f"{sys.implementation.cache_tag}-{sys.hexversion:x}-{sys.flags.optimize}"

    def _compile_source(pathname, source):
        path = f"{_folder}/{_kind}-{len(source)}-{_imp.source_hash(1, source).hex()}"
        try:
            with open(path, "rb") as file:
                code = marshal.loads(file.read())
        except (OSError, EOFError, ValueError, TypeError):
            code = _original(pathname, source)
            part = f"{path}.{os.getpid()}"
            try:
                with open(part, "wb") as file:
                    file.write(marshal.dumps(code))
                os.replace(part, path)
            except OSError:
                pass
            return code
        _imp._fix_co_filename(code, pathname)  # tracebacks name the file of this process
        return code

    _zipimport._compile_source = _compile_source
