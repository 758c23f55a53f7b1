# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What people from outside look for is there and says the right version:  check_community.py <repository>

Files for other programs can be parsed and have what these programs need: CITATION.cff, codemeta.json, the forms of issues, the workflow,
the settings of editors, containers and Read the Docs. With --check-itself: files with one mistake each are refused.
"""
import json
import pathlib
import re
import shutil
import sys
import tempfile

try:
    import yaml
except ImportError:
    yaml = None

PAGES = ["CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "LICENSE", "SECURITY.md", "SUPPORT.md", ".github/PULL_REQUEST_TEMPLATE.md"]
JSON = ["CMakePresets.json", "codemeta.json", "cmake/packaging/vcpkg/ccoll/vcpkg.json", ".devcontainer/devcontainer.json"]
YAML = ["CITATION.cff", ".readthedocs.yaml", ".clang-format", ".clang-tidy", ".github/workflows/*.yml", ".github/ISSUE_TEMPLATE/*.yml"]
OTHERS = ["include/ccoll/version.hpp", ".devcontainer/Dockerfile", ".editorconfig", ".gitattributes", ".ci/run"]


def faults(root):
    """Yields a sentence for each fault."""
    for name in PAGES + OTHERS:
        if not (root / name).is_file():
            yield f"{name} is missing"
    numbers = re.findall(r"^#define CCOLL_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", (root / OTHERS[0]).read_text(), re.M)
    version = ".".join(numbers)

    files = {}
    for name in JSON:
        try:
            files[name] = json.loads((root / name).read_text())
        except (OSError, ValueError) as error:
            yield f"{name}: {error}"
    for pattern in YAML:
        found = sorted(root.glob(pattern))
        if not found:
            yield f"{pattern} is missing"
        for file in found:
            name = str(file.relative_to(root))
            try:
                files[name] = yaml.safe_load(file.read_text()) if yaml else {}
            except yaml.YAMLError as error:
                yield f"{name}: {error}"

    meta = files.get("codemeta.json", {})
    for key in ("@context", "@type", "name", "version", "description", "license", "author", "referencePublication"):
        if key not in meta:
            yield f"codemeta.json: has no '{key}'"
    for name in ("codemeta.json", "cmake/packaging/vcpkg/ccoll/vcpkg.json"):
        if name in files and files[name].get("version") != version:
            yield f"{name}: the version is {files[name].get('version')}, and {version} in version.hpp"
    build = files.get(".devcontainer/devcontainer.json", {}).get("build", {})
    if not (root / ".devcontainer" / build.get("dockerfile", "none")).is_file():
        yield ".devcontainer/devcontainer.json: names no Dockerfile"
    if not yaml:
        return

    cite = files.get("CITATION.cff") or {}
    for key in ("cff-version", "message", "title", "type", "version", "authors", "references"):
        if key not in cite:
            yield f"CITATION.cff: has no '{key}'"
    if cite.get("version") != version:
        yield f"CITATION.cff: the version is {cite.get('version')}, and {version} in version.hpp"
    for paper in cite.get("references", []):
        for key in ("type", "title", "year", "authors"):
            if key not in paper:
                yield f"CITATION.cff: '{paper.get('title')}' has no '{key}'"
    if [p.get("title") for p in cite.get("references", [])] != [p.get("name") for p in meta.get("referencePublication", [])]:
        yield "codemeta.json: has other papers than CITATION.cff"

    for name, form in files.items():
        if name.startswith(".github/ISSUE_TEMPLATE/") and not name.endswith("config.yml"):
            for key in ("name", "description", "body"):
                if key not in form:
                    yield f"{name}: has no '{key}'"
            ids = [field.get("id") for field in form.get("body", []) if field.get("type") != "markdown"]
            if None in ids or len(set(ids)) != len(ids):
                yield f"{name}: each field needs an id of its own"
        if name.startswith(".github/workflows/"):
            for job in form.get("jobs", {}).values():
                if "timeout-minutes" not in job or not any(".ci/run" in step.get("run", "") for step in job["steps"]):
                    yield f"{name}: a job must call .ci/run and have a limit of time"
    docs = files.get(".readthedocs.yaml") or {}
    if docs.get("version") != 2 or "docs/site.sh" not in docs.get("build", {}).get("commands", []):
        yield ".readthedocs.yaml: version 2 calls docs/site.sh"


def check_itself(root):
    """Each mistake, alone in a copy, must be found."""
    mistakes = [
        ("SECURITY.md", None, None, "SECURITY.md is missing"),
        ("codemeta.json", '"version": "', '"version": "9', "codemeta.json: the version is 9"),
        ("codemeta.json", '"author":', '"authors":', "codemeta.json: has no 'author'"),
        ("codemeta.json", "{", "", "codemeta.json: "),
        (".devcontainer/devcontainer.json", '"Dockerfile"', '"dockerfile"', "names no Dockerfile"),
    ]
    if yaml:
        mistakes += [
            ("CITATION.cff", "\nversion: ", "\nversion: 9", "CITATION.cff: the version is 9"),
            ("CITATION.cff", "\nmessage: ", "\nmassage: ", "CITATION.cff: has no 'message'"),
            ("CITATION.cff", "year: 2024", "month: 1", "has no 'year'"),
            ("CITATION.cff", "title: An Opt", "title: An opt", "has other papers"),
            (".github/ISSUE_TEMPLATE/bug.yml", "id: result", "id: program", "an id of its own"),
            (".github/ISSUE_TEMPLATE/bug.yml", "body:", "  body:", ".github/ISSUE_TEMPLATE/bug.yml: "),
            (".github/workflows/tests.yml", "timeout-minutes", "timeout", "a limit of time"),
            (".readthedocs.yaml", "- docs/site.sh", "- docs/site.py", "calls docs/site.sh"),
        ]
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for pattern in PAGES + OTHERS + JSON + YAML:
            for file in root.glob(pattern):
                (copy / file.relative_to(root)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, copy / file.relative_to(root))
        for name, right, wrong, words in mistakes:
            text = (root / name).read_text()
            if right is None:
                (copy / name).unlink()
            else:
                assert right in text, f"{name} has no '{right}'"
                (copy / name).write_text(text.replace(right, wrong, 1))
            found = list(faults(copy))
            if len(found) == 0 or not any(words in fault for fault in found):
                sys.exit(f"'{wrong}' in {name} should be told by '{words}', and is by {found}")
            (copy / name).write_text(text)
        if list(faults(copy)):
            sys.exit("the files without a mistake are refused")


repository = pathlib.Path(sys.argv[1]).resolve()
if "--check-itself" in sys.argv:
    check_itself(repository)
else:
    found = list(faults(repository))
    if found:
        sys.exit("\n".join(found))
if not yaml:
    print("SKIPPED: this Python has no yaml; on Debian and Ubuntu it is in the package python3-yaml")
