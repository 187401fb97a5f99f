# SPDX-License-Identifier: Apache-2.0
"""Makes of the page's parts and the plotting library one C++ file: the text before the data and the text after it.

usage: bundle.py OUT PACKAGES    (PACKAGES: directory with node_modules; without the library in it both texts are empty)
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TEMPLATE = """// SPDX-License-Identifier: Apache-2.0
#include "npuprof/page.h"

namespace npuprof::cli {{

const char* const kPageHead = {head};

const char* const kPageTail = {tail};

}}  // namespace npuprof::cli
"""


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def literal(text):
    """A C++ literal. Compilers need not take one of more than 64 KiB, so it comes in pieces."""
    pieces = [text[i:i + 8000] for i in range(0, len(text), 8000)] or [""]
    for piece in pieces:
        assert ")PAGE\"" not in piece
    return "\n    ".join(f'R"PAGE({piece})PAGE"' for piece in pieces)


def page(packages):
    plot = os.path.join(packages, "node_modules", "uplot", "dist")
    script = os.path.join(plot, "uPlot.iife.min.js")
    if not os.path.exists(script):
        return "", ""
    licence = read(os.path.join(packages, "node_modules", "uplot", "LICENSE"))
    parts = {"PLOT_CSS": read(os.path.join(plot, "uPlot.min.css")),
             "PAGE_CSS": read(os.path.join(HERE, "page.css")),
             "PLOT_JS": f"/*\n{licence}*/\n{read(script)}",
             "PAGE_JS": "".join(read(os.path.join(HERE, name)) for name in ("base.js", "plots.js", "page.js"))}
    for name, text in parts.items():
        for end in ("</script", "</style", "<!--"):
            if end in text.lower():
                sys.exit(f"bundle.py: {name} holds '{end}', which would end its element")
    head, tail = read(os.path.join(HERE, "page.html")).split("@DATA@")
    for name, text in parts.items():
        head, tail = head.replace(f"@{name}@", text), tail.replace(f"@{name}@", text)
    return head, tail


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    head, tail = page(sys.argv[2])
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        f.write(TEMPLATE.format(head=literal(head), tail=literal(tail)))


if __name__ == "__main__":
    main()
