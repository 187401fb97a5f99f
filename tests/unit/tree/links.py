# SPDX-License-Identifier: Apache-2.0
"""Checks that relative links and pictures in the tree's Markdown pages lead to something.

usage: links.py ROOT
"""

import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from licences import files

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)[^)]*\)")


def broken(root, page):
    with open(os.path.join(root, page), encoding="utf-8") as f:
        text = re.sub(r"```.*?```", "", f.read(), flags=re.S)
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:|#", target):
            continue
        path = os.path.normpath(os.path.join(root, os.path.dirname(page), target.split("#")[0]))
        if not os.path.exists(path):
            yield f"{page}: '{target}' leads nowhere"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = sys.argv[1]
    pages = [p for p in sorted(files(root)) if p.endswith(".md")]
    complaints = [line for page in pages for line in broken(root, page)]
    for line in complaints:
        print(line)
    print(f"{len(pages)} pages checked, {len(complaints)} broken links")
    sys.exit(1 if complaints or not pages else 0)


if __name__ == "__main__":
    main()
