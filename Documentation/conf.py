# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""How Sphinx makes the documentation: 'make docs'."""

import re
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
HEADER = (TOP / "net/sunrpc/rpcrdma/module.h").read_text(encoding="utf-8")

project = "rpcrdma"
author = "The rpcrdma developers"
version = release = re.search(r'RPCRDMA_VERSION\s+"(.*)"', HEADER)[1]
# The same files give the same pages, whatever day it is.
today = release
html_last_updated_fmt = None
html_copy_source = False
html_show_copyright = False
man_show_urls = True

root_doc = "index"
extensions = ["sphinx.ext.graphviz"]
graphviz_output_format = "svg"
# Commands are shown as they are typed.
smartquotes = False
highlight_language = "none"

html_static_path = ["static"]
html_theme = "alabaster"
html_theme_options = {
    "description": "NFS over RDMA, version 2",
    "fixed_sidebar": True,
    "page_width": "70em",
    "body_max_width": "none",
    "font_family": "sans-serif",
    "head_font_family": "sans-serif",
}
html_sidebars = {"**": ["about.html", "navigation.html", "searchbox.html"]}

# rpcrdmactl(8) has a source of its own, tools/rpcrdmactl/rpcrdmactl.8.
man_pages = [("knobs", "rpcrdma", "kernel module for NFS over RDMA, and its settings",
              [author], 7)]
