# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One page per header, from its signatures and docstrings:  api_pages.py <include folder> <output folder>
Prints the pages as entries of the site's navigation.

Reads the headers as they are written: declarations at namespace scope, outside of namespace detail, each with the /// lines before it. A
class is shown with its public members and without function bodies.
"""
import pathlib
import re
import sys
import textwrap

# What users and authors of extensions include, beside the headers in the top folder.
MORE = [
    "instrument/report.hpp", "base/error.hpp", "base/messages.hpp", "policy/error_bound.hpp", "policy/missing.hpp", "policy/plan.hpp", "policy/menu.hpp",
    "policy/chooser.hpp", "policy/reduce_op.hpp", "policy/element.hpp", "policy/buffer.hpp", "policy/shaped.hpp", "policy/strided.hpp",
    "policy/neighbors.hpp", "policy/strides.hpp", "policy/tags.hpp", "wait/request.hpp", "transport/transport.hpp",
    "transport/threads.hpp", "transport/mpi.hpp", "transport/ucx.hpp", "transport/exchange.hpp", "algo/schedule.hpp",
    "algo/collective.hpp", "algo/collectives.hpp", "algo/walk.hpp", "codec/codec_impl.hpp", "base/isa.hpp", "base/half.hpp",
]


def closing(text, at):
    """The index behind the bracket that closes the one at `at`; comments and literals are skipped."""
    depth = 0
    while at < len(text):
        if text.startswith("//", at):
            at = text.find("\n", at)
            continue
        c = text[at]
        if c in "\"'" and not (c == "'" and text[at - 1].isdigit()):
            at += 1
            while text[at] != c:
                at += 2 if text[at] == "\\" else 1
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    raise ValueError("a bracket without an end")


def without_template(head):
    """A declaration without `template <...>` in front."""
    head = head.strip()
    while head.startswith("template"):
        at, depth = head.index("<"), 0
        while True:
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
            if depth == 0:
                break
        head = head[at:].strip()
    return head


def without_brackets(text):
    out, at = "", 0
    while at < len(text):
        end = closing(text, at) if text[at] in "([{" else at + 1
        out += text[at] if end == at + 1 else ""
        at = end
    return out


def declaration(text, at):
    """Reads one declaration: its signature, the body if it is a class, and where the next one begins."""
    begin = at
    while True:
        c = text[at]
        if text.startswith("//", at):
            at = text.index("\n", at)
        elif c == ";":
            return text[begin:at + 1], None, at + 1
        elif c in "([":
            at = closing(text, at)
        elif c == "{":
            head = text[begin:at]
            plain = without_template(head)
            if re.match(r"(struct|class|union|enum)\b", plain):
                end = closing(text, at)
                return head.strip(), text[at + 1:end - 1], text.index(";", end) + 1
            end = closing(text, at)
            outside = re.sub(r"operator\S+", "", without_brackets(plain))
            if re.search(r"\brequires\s*$", outside) or re.search(r"(?<![=!<>])=(?!=)", outside):
                at = end  # a part of the declaration
                continue
            return re.sub(r"\s*(?<!:):\s*\w+\(.*$", "", head.strip(), flags=re.S) + ";", None, end
        else:
            at += 1


def members(body):
    """The public members of a class, without bodies and private parts; the values of an enumeration."""
    if ";" not in re.sub(r"//.*", "", body):
        return "\n".join(line.rstrip() for line in body.strip("\n").split("\n"))
    out, private, at = [], False, 0
    while at < len(body):
        line_end = body.find("\n", at)
        line_end = len(body) if line_end < 0 else line_end
        line = body[at:line_end]
        word = line.strip()
        if word in ("private:", "protected:", "public:"):
            private = word != "public:"
        elif not word or word.startswith("#") or word.startswith("//"):
            if not private and not word.startswith("#") and not (word.startswith("//") and not word.startswith("///")):
                out.append(line.strip())
        else:
            signature, inner, end = declaration(body, at)
            rest = body[end:body.find("\n", end)] if "\n" in body[end:] else body[end:]
            note = rest.strip() if rest.strip().startswith("///<") else ""
            if not private and "= delete" not in signature and "friend" not in signature:
                shown = signature.strip() + (" {\n" + members(inner) + "\n};" if inner is not None else "")
                out.append(shown + ("  " + note if note else ""))
            at = end + (len(rest) if not rest.strip() or note else 0)
            if at < len(body) and body[at] == "\n":
                at += 1
            continue
        at = line_end + 1
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n")
    return "\n".join(("    " + l).rstrip() for l in text.split("\n"))


def entries(text):
    """(docstring lines, namespace, signatures and members) of all that a header declares for others. Declarations without a docstring
    belong to the one right before them, if no empty line is between."""
    at, doc, scopes, entry, after = 0, [], [], None, 0
    while at < len(text):
        line_end = (text + "\n").find("\n", at)
        word = text[at:line_end].strip()
        if word.startswith("///<"):
            pass
        elif word.startswith("///"):
            doc.append(word[3:][1:] if word[3:4] == " " else word[3:])
        elif word.startswith("#"):
            while text[line_end - 1] == "\\":
                line_end = text.index("\n", line_end + 1)
            name = re.match(r"#\s*define\s+(CCOLL_\w+(\([^)]*\))?)", word)
            if name and doc:
                yield doc, "", ["#define " + name.group(1)]
            doc = []
        elif not word or word.startswith("//"):
            doc = doc if word else []
        elif word.startswith("namespace") or word.startswith("inline namespace"):
            if re.search(r"\bdetail\b|namespace\s*\{", word):
                line_end = text.index("\n", closing(text, text.index("{", at)))
            elif "{" in word:
                scopes.append(re.match(r"(?:inline )?namespace\s+(.*?)\s*\{", word).group(1))
        elif word.startswith("}") or word.startswith("using namespace") or re.match(r"(CCOLL_[A-Z0-9_]+(\(.*\))?;?$|static_assert)", word):
            if word.startswith("static_assert"):
                line_end = text.index(";", closing(text, text.index("(", at)))
            if word.startswith("}") and scopes:
                scopes.pop()
            doc = []
        else:
            signature, body, end = declaration(text, at)
            code = shown(signature.strip(), members(body) if body is not None else None)
            if entry and not doc and "\n\n" not in text[after:at].replace(" ", ""):
                entry[2].append(code)
            else:
                if entry:
                    yield entry
                names = [name for scope in scopes for name in scope.replace("inline ", "").split("::")]
                entry = doc, "".join(name + "::" for name in names if name not in ("ccoll", "CCOLL_ABI", "policies")), [code]
            doc, at, after = [], end, end
            continue
        at = line_end + 1
    if entry:
        yield entry


def escaped(line):
    return "".join(part if i % 2 else part.replace("<", "&lt;") for i, part in enumerate(re.split(r"(`[^`]*`)", line)))


def prose(doc):
    """A docstring as Markdown: forms as code, parameters as a list, and labels such as 'Cost:' as paragraphs."""
    out, kind = [], ""
    for line in (part for whole in doc for part in re.split(r"\s{2,}(?=@throw)", whole)):
        tag = re.match(r"@(t?param|return|throw)\s+(.*)", line)
        if tag:
            what, text = tag.groups()
            name, rest = re.match(r"(\S+(?:,\s\w+)*)\s*(.*)", text).groups() if what.endswith("param") else ("", text)
            label = f"`{name}`" if name else {"return": "returns", "throw": "throws"}[what]
            out += ([""] if kind != "tag" else []) + [f"- {label}: {escaped(rest)}"]
            kind = "tag"
        elif not line.strip():
            out.append("")
            kind = ""
        elif kind == "tag" and line.startswith(" "):
            out[-1] += " " + escaped(line.strip())
        elif line.startswith("  "):
            out += ([""] if kind != "code" else []) + ["    " + line]
            kind = "code"
        else:
            label = re.match(r"(Cost|Error|Errors|Source|Precondition|Preconditions): ", line)
            if label or kind != "text":
                out.append("")
            out.append(escaped(line) if not label else f"**{label.group(1)}:** " + escaped(line[label.end():]))
            kind = "text"
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n")


def name_of(signature):
    plain = without_template(signature).replace("decltype(auto)", "auto")
    plain = re.sub(r"^requires.*?\n(?=\S)", "", plain, flags=re.S) if plain.startswith("requires") else plain
    for pattern in (r"#define (\w+)",
                    r"(?:struct|class|enum|union)(?: class)?\s+(?:\[\[\w+\]\]\s*)?([\w:<>, ]+?)\s*(?::[^:]|;|\{|$)",
                    r"concept (\w+)", r"using (\w+)", r"(operator\s*\S+?)\(", r"([\w:]+)\(", r"(\w+(?:<[^=;]*>)?)\s*(?:=|;|\{)"):
        found = re.search(pattern, plain)
        if found:
            return found.group(1).strip()
    return plain.split("\n")[0]


def shown(signature, inside):
    signature = re.sub(r"\bdetail::shown auto\b", "auto", signature)  # a constraint that only sorts overloads
    return re.sub(r"\n\s*\n", "\n", signature) + (" {\n" + inside + "\n};" if inside is not None else "")


def forms_of(include):
    """The parameters in front of the communicator, for each form of calls: its overloads (CCOLL_SHOWN_<form> of the headers)."""
    forms = {}
    for path in sorted((include / "ccoll").rglob("*.hpp")):
        folded = re.sub(r"\\\n\s*", "", path.read_text())
        for name, overloads in re.findall(r"^#define CCOLL_SHOWN_(\w+)\(FORM, \.\.\.\)(.*)$", folded, re.M):
            forms[name] = [re.sub(r"\s+", " ", each) for each in re.findall(r"FORM\(\((.*?)\),\s*__VA_ARGS__\)", overloads)]
    return forms


def with_forms(text, forms):
    """A header with what its macros declare: signatures (CCOLL_FORMS, CCOLL_SHOWN), and the values of collective_id."""
    def signature(result, name, parameters, more):
        head = f"{result} {name}("
        each = re.split(r",\s*", parameters) + ["const auto& comm", f"auto&&... {more}"]
        whole = head + ", ".join(one.replace(" ", "\0") for one in each) + ");"  # lines end behind a comma
        lines = textwrap.wrap(whole.replace(head, head.replace(" ", "\0"), 1), 105, subsequent_indent=" " * len(head))
        return "\ntemplate <class... Policies>\n" + "\n".join(lines).replace("\0", " ")

    def calls(line):
        kind, name, form = line.groups()
        ways = [("report", name, "bound_and_error_code"), ("request", "i" + name, "bound"), ("persistent", name + "_init", "bound")]
        return "\n".join(signature(result, call, each, more) for result, call, more in ways[:2 if kind else 3] for each in forms[form])

    listed = re.findall(r"^ *COLLECTIVE\((\d+), (\w+)\)", text, re.M)  # the enumeration of algo/collectives.hpp
    text = re.sub(r"#define CCOLL_COLLECTIVE\(number, tag\) tag = number,\n.*\n#undef CCOLL_COLLECTIVE",
                  "\n".join(f"    {tag} = {number}," for number, tag in listed), text)
    text = re.sub(r"^CCOLL_(P2P_)?FORMS\((\w+), (\w+)\)$", calls, text, flags=re.M)
    return re.sub(r"^CCOLL_SHOWN\(\((.*)\), (\w+), (\w+), (\w+)\)$", lambda line: signature(line[2], line[3], line[1], line[4]), text, flags=re.M)


def page(path, include, all_forms):
    text = path.read_text()
    lead = []
    for line in text.split("\n")[1:]:
        if not line.startswith("//"):
            break
        lead.append(line[2:].removeprefix(" "))
    header = path.relative_to(include).as_posix()
    lead[0] = re.sub(r"^\S+ - floor \d\. ", "", lead[0])
    out = [f"# {header.removeprefix('ccoll/')}", "", f"`#include <{header}>`", "", prose(lead), ""]
    body = with_forms(re.sub(r"^// SPDX.*\n(//.*\n)*", "", text), all_forms)
    found = list(entries(body))
    documented = {scope + name_of(codes[0]) for doc, scope, codes in found if doc}
    forms, others = {}, []  # a call has its forms as declarations without docstrings
    for scope, code in ((scope, code) for doc, scope, codes in found if not doc for code in codes):
        name = scope + name_of(code)
        forms.setdefault(name, []).append(code) if name in documented else others.append(code)
    last = None
    for doc, scope, codes in found:
        if not doc:
            continue
        name = scope + name_of(codes[0])
        if name != last:
            out += [f"## {name}", ""]
        last = name
        rest = forms.pop(name, [])
        out += ["```cpp"] + ([] if rest and "Arguments&&... arguments" in codes[0] else codes) + rest + ["```", "", prose(doc), ""]
    if others:
        out += ["## More declarations", "", "```cpp"] + others + ["```", ""]
    return header, lead[0], "\n".join(out)


def main():
    include, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    output.mkdir(parents=True, exist_ok=True)
    rows = {True: [], False: []}
    all_forms = forms_of(include)
    top = sorted((include / "ccoll").glob("*.hpp"))
    for path in top + [include / "ccoll" / name for name in MORE]:
        header, what, text = page(path, include, all_forms)
        name = header.removeprefix("ccoll/").replace("/", "_").removesuffix(".hpp") + ".md"
        (output / name).write_text(text + "\n")
        rows[path in top].append(f"| [{header.removeprefix('ccoll/')}]({name}) | {escaped(what)} |")
    index = ["# Headers", "", "Signatures and docstrings, taken from the headers. The [reference](../reference.md) explains the calls.", ""]
    for title, part in (("What users include", True), ("What they lead to", False)):
        index += [f"## {title}", "", "| header | |", "|---|---|"] + rows[part] + [""]
    (output / "index.md").write_text("\n".join(index))
    print("      - docs/api/index.md")
    for part in (True, False):
        for row in rows[part]:
            print("      - " + re.sub(r"^\| \[(.*?)\]\((.*?)\).*", r"\1: docs/api/\2", row))


main()
