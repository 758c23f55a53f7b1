#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Builds these pages as a web site, with a search and a page for each header, and checks its links and anchors.
#   docs/site.sh           makes build/site, a folder to publish; its search works only where a server shows it
#   docs/site.sh serve     makes it, and shows it at http://127.0.0.1:8000
# Needs python3. MkDocs and its theme are installed by pip in a virtual environment, build/site-venv.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=build/site-venv
python=python3
if ! $python -c 'import ensurepip' 2>/dev/null; then
    # shellcheck source=cmake/bootstrap.sh
    . cmake/bootstrap.sh
    bootstrap python3-venv
fi
if [ ! -x $venv/bin/mkdocs ]; then
    $python -m venv $venv
    $venv/bin/pip install --quiet 'mkdocs>=1.6,<2' 'mkdocs-material>=9.5,<10'
fi
rm -rf build/site-pages
$venv/bin/python docs/site/stage.py . build/site-pages
$venv/bin/python docs/site/api_pages.py include build/site-pages/docs/api >build/site-headers.yml
cat docs/site/mkdocs.yml build/site-headers.yml >build/mkdocs.yml
# Not --quiet, with which --strict forgives warnings.
if ! NO_MKDOCS_2_WARNING=1 $venv/bin/mkdocs build --strict --config-file build/mkdocs.yml >build/site.log 2>&1; then
    grep -v '^INFO' build/site.log
    exit 1
fi
echo "build/site/index.html: $(find build/site -name '*.html' | wc -l) pages; all links and anchors lead somewhere"
if [ "${1:-}" = serve ]; then exec $venv/bin/python -m http.server --bind 127.0.0.1 --directory build/site 8000; fi
