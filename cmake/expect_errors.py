#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""expect_errors.py <source> <case> <compiler and flags...>

Compiles the source with -DCCOLL_CASE=<case>. A comment '// expect: <sentence>' stands above each bad statement. The compiler must give
exactly one error for it, with that sentence, and no other error: a user who made one mistake should read one sentence. What is not below
such a comment must give no error. All mistakes of a file are compiled at once, because reading the headers takes longer than refusing a
call. Output of g++ and clang++ is understood.
"""
import re
import subprocess
import sys

ERROR = re.compile(r"^(?P<file>[^:\s][^:]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$")
# g++ names the place in front of an error ('required from here'), clang behind it ('requested here').
PLACE = re.compile(r"^(?P<file>[^:\s][^:]*):(?P<line>\d+):(?:\d+:)? (?P<text>.*)$")

INCLUDED = re.compile(r"^(?:In file included| {16,}) ?from (?P<file>[^:]+):(?P<line>\d+)[,:]")


def expectations(source, case):
    """[(line, sentence)], in order, without those of other cases ('#if CCOLL_CASE == <n>', #elif)."""
    found, active = [], True
    for number, line in enumerate(open(source), 1):
        condition = re.match(r"\s*#\s*(?:el)?if\s+CCOLL_CASE == (\d+)", line)
        if condition:
            active = int(condition[1]) == case
        elif re.match(r"\s*#\s*endif", line):
            active = True
        sentence = re.search(r"// expect: (.+)$", line)
        if active and sentence:
            found.append((number, sentence[1].strip()))
    return found


def errors(source, output):
    """[(line in source that led to the error, or 0, text)]"""
    found, before, last = [], 0, None
    for line in output.splitlines():
        error = ERROR.match(line)
        place = PLACE.match(line)
        if error:
            is_here = error["file"] == source
            found.append([int(error["line"]) if is_here else before, error["text"]])
            last = found[-1] if not is_here else None
        elif included := INCLUDED.match(line):
            before = int(included["line"]) if included["file"] == source else 0
        elif place and place["file"] == source:
            if re.match(r" *(required from|in .constexpr. expansion)", place["text"]):
                before = int(place["line"])
            elif "requested here" in place["text"] and last:
                last[0] = int(place["line"])
    return found


def main():
    source, case, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    wanted = expectations(source, case)
    if "clang" in command[0]:
        command += ["-ferror-limit=0", "-fno-caret-diagnostics"]
    else:
        command += ["-fno-diagnostics-show-caret"]
    run = subprocess.run([*command, "-ftemplate-backtrace-limit=0", f"-DCCOLL_CASE={case}", source], capture_output=True, text=True)
    wrong = []
    found = errors(source, run.stderr)
    for index, (line, sentence) in enumerate(wanted):
        end = wanted[index + 1][0] if index + 1 < len(wanted) else line + 1000
        here = [text for at, text in found if line < at < end]
        if len(here) != 1:
            wrong.append(f"{source}:{line}: should give one error, gives {len(here)}: {here}; expected '{sentence}'")
        elif sentence not in here[0]:
            wrong.append(f"{source}:{line}: should say '{sentence}', says '{here[0]}'")
    first = wanted[0][0] if wanted else float("inf")
    wrong += [f"{source}:{at}: an error without '// expect: ': {text}" for at, text in found if at < first]
    if (run.returncode != 0) != bool(wanted):
        wrong.append(f"the compiler ends with {run.returncode}:\n{run.stderr}")
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(wanted)} sentences")


main()
