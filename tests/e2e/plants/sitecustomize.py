"""Plants a bug: whoever is started with this folder on PYTHONPATH imports one module with another text in it.

`LEASEHOLD_PLANT` says which, as JSON: `module`, `was`, `becomes`. What was has to stand there once. The module's file
stays as it is, and so does what is kept of it compiled.
"""

import json
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType

_PLANT = json.loads(os.environ["LEASEHOLD_PLANT"])


class _Planted(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        source = self.get_data(self.path).decode()
        assert source.count(_PLANT["was"]) == 1, f"{self.path} has changed: plant the bug anew"
        code: CodeType = self.source_to_code(
            source.replace(_PLANT["was"], _PLANT["becomes"]).encode(), self.path
        )
        return code


class _Finder(MetaPathFinder):
    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if fullname != _PLANT["module"]:
            return None
        spec = PathFinder.find_spec(fullname, path)  # type: ignore[arg-type]  # as it was handed on
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Planted(fullname, spec.origin)
        return spec


sys.meta_path.insert(0, _Finder())
