"""The site that `make docs` builds of this folder."""

import leasehold
from leasehold import errors
from leasehold._generated import contract_errors

# These are loaded when they are asked for, and shown like the others.
vars(errors).update({name: getattr(contract_errors, name) for name in contract_errors.__all__})
errors.__all__ += contract_errors.__all__
project = "Leasehold"
author = "Leasehold"
release = leasehold.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
html_theme = "furo"
html_title = "Leasehold"
myst_heading_anchors = 4
# A test finds every path and heading that is cited; links out of this folder are the tree's, not the site's.
suppress_warnings = ["myst.xref_missing", "toc.not_included"]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"


def plainly(app, what, name, of, options, lines):  # type: ignore[no-untyped-def]  # Sphinx's own signature
    """Docstrings are plain text: what stands indented by itself is shown as it stands, and a long line goes on."""
    made, begun = [], ""
    for line in lines:
        if not line.startswith(" ") or begun.startswith((":", "..", "*", "-")):
            made.append(line)
        elif made and made[-1].strip() and not made[-1].startswith(" "):
            made[-1] += " " + line.strip()
        else:
            if made and not any(earlier.startswith(" ") for earlier in made[-2:]):
                made += ["::", ""]
            made.append(line)
        if line and not line.startswith(" "):
            begun = line
    lines[:] = made


def setup(app):  # type: ignore[no-untyped-def]  # Sphinx's own signature
    app.connect("autodoc-process-docstring", plainly, priority=900)
