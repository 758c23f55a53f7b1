# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies the pages for MkDocs:  stage.py <repository> <folder>

The copies keep their places. They differ only where GitHub's Markdown allows what Python's does not: a list right behind a paragraph, and
lists within lists that are indented by two spaces. What a page links to and is no page, such as the licence, is copied as well.
"""
import pathlib
import re
import shutil
import sys

root, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
pages = [
    *root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("docs/*/*.md"), *root.glob("include/ccoll/*/README.md"),
    root / "cmake/packaging/README.md", root / "examples/README.md",
]
ITEM = re.compile(r"( *)([-*]|\d+\.) ")


def adapted(text):
    lines, in_code, in_list = [], False, False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        if not in_code:
            item = ITEM.match(line)
            if item and not in_list and lines and lines[-1].strip():
                lines.append("")
            if item:
                in_list = True
            elif not line.strip():
                in_list = False
            if in_list and line.startswith(" "):
                indent = len(line) - len(line.lstrip())
                line = " " * indent + line
        lines.append(line)
    return "\n".join(lines)


for page in pages:
    copy = out / page.relative_to(root)
    copy.parent.mkdir(parents=True, exist_ok=True)
    text = page.read_text()
    copy.write_text(adapted(text))
    for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", text, flags=re.S)):
        target = (page.parent / link).resolve()
        if target.is_file() and target.suffix != ".md" and root in target.parents:
            (out / target.relative_to(root)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(target, out / target.relative_to(root))
style = out / "docs/site/extra.css"
style.parent.mkdir(parents=True, exist_ok=True)
shutil.copy(root / "docs/site/extra.css", style)
