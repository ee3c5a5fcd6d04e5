"""Builds build/docs from docs/: `docs_site.py SPHINX_HOME`. A reference to nothing is an error."""

import site
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main(home: str) -> int:
    """Sphinx has an environment of its own; behind ours, since it imports the library to read its docstrings."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site.addsitedir(f"{home}/lib/{version}/site-packages")
    from sphinx.cmd.build import main as build

    target = ROOT / "build/docs"
    code = int(build(["-q", "-W", "--keep-going", "-b", "html", str(ROOT / "docs"), str(target)]))
    if code == 0:
        print(f"The site is in {target.relative_to(ROOT)}/index.html.")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
