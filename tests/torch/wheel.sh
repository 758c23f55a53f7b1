#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# examples/torch as docs/pytorch.md installs it: an sdist, from it a wheel outside the repository, and with that the demo and torchrun, in a
# virtual environment that sees the torch of the tests and no MPI.
# Exit code 77 (skipped) where no Python has torch, or pip cannot get setuptools for a build in isolation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
# shellcheck source=examples/torch/python.sh
. examples/torch/python.sh
python=$(torch_python) || {
    echo "skipped: no Python has torch (examples/torch/run.sh --install)"
    exit 77
}
root=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! "$python" -m pip download --quiet --no-deps --dest "$work" 'setuptools>=77' build; then
    echo "skipped: pip cannot get setuptools and build"
    exit 77
fi
# pip and the programs run in other folders, without the variables of a build tree, so that nothing of the repository is found.
unset PYTHONPATH CCOLL_TORCH_EXTENSION CCOLL_TORCH_BUILD
if command -v ccache >/dev/null; then export CXX='ccache g++' CCACHE_BASEDIR=$work; fi

"$python" -m venv "$work/venv"
"$python" -c 'import pathlib, torch; print(pathlib.Path(torch.__file__).parents[1])' >"$(echo "$work"/venv/lib/python3*/site-packages)/torch.pth"
fresh=$work/venv/bin/python

echo "== what pip reads in the repository"
(cd "$work" && "$fresh" -m pip install --dry-run "$root/examples/torch") | tee "$work/said"
grep -q 'Would install ccoll[_-]torch' "$work/said"
if grep -q 'Would install.* torch-' "$work/said"; then echo "torch would be installed a second time" && exit 1; fi

echo "== sdist"
"$fresh" -m pip install --quiet build
"$fresh" -m build --sdist --outdir "$work" examples/torch
tar -tzf "$work"/ccoll_torch-*.tar.gz >"$work/files"
for file in include/ccoll/ccoll.hpp include/ccoll/transport/ucx.hpp LICENSE backend.cpp build.py pyproject.toml ccoll_torch/demo.py; do
    grep -q "^ccoll_torch-[0-9.]*/$file\$" "$work/files" || { echo "the sdist lacks $file" && exit 1; }
done
if grep -E '\.o$|\.so$|/build/' "$work/files"; then echo "the sdist has what was built" && exit 1; fi

echo "== install from the sdist"
(cd "$work" && time "$fresh" -m pip install ccoll_torch-*.tar.gz)
module=$(cd "$work" && "$fresh" -c 'import ccoll_torch._load as l; print(l._C.__file__)')
case $module in "$work"/venv/*) ;; *) echo "the extension that is loaded is $module" && exit 1 ;; esac
if ldd "$module" | grep -i libmpi; then echo "the extension needs MPI" && exit 1; fi

echo "== demo"
(cd "$work" && timeout 300 "$fresh" -m ccoll_torch.demo --ranks 2 --steps 50) | tee "$work/said"
# All have learnt something (2.3 is the loss of guessing), exact averages as much as with gloo, and 4 bits take less than a quarter of the bytes.
awk '/^gloo/ { gloo = $2 } /^exact/ { exact = $2; full = $5 } /^Bits\(4\)/ { four = $3; few = $6 }
    END { exit !(gloo > 0 && gloo < 1.15 && exact < 1.05 * gloo && exact > 0.95 * gloo && four < 1.15 && few > 0 && few < full / 4) }' "$work/said"

echo "== torchrun"
for way in ddp fsdp; do
    torchrun=("$fresh" -m torch.distributed.run --standalone --nproc-per-node 3)
    (cd "$work" && timeout 300 "${torchrun[@]}" "$root/examples/torch/train.py" --way $way --steps 50) | tee "$work/said"
    test "$(grep -c 'the same bits on all ranks' "$work/said")" = 2
done
