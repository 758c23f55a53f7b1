# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The names that the headers declare for users:  public_names.py <include folder> <list> [--write]
Compares them with the list, which has a line for each, and says what differs; or writes the list.
public_names.py --check-itself: reads declarations of each kind.

A name is public if it stands in namespace ccoll or in one within it that is not named detail. Headers are read as text, without a compiler,
so the list does not depend on the machine. Macros of the headers that stand for declarations are replaced. Members of classes,
specialisations and friends are not listed: who knows the public names knows where they belong.
"""
import pathlib
import re
import sys

BRACKETS = {"(": ")", "[": "]", "{": "}"}
# In front of a parenthesis, but not the name of a function.
NOT_NAMES = {"alignas", "decltype", "noexcept", "requires", "sizeof", "static_assert", "void", "if", "explicit", "__attribute__"}


def code_of(text):
    """The text without comments, directives and the contents of literals. Where #if offers several texts, all but the first are left out if
    their brackets would not match."""
    text = re.sub(r'R"(\w*)\(.*?\)\1"', '""', text, flags=re.S)
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<![\w])\'(?:\\.|[^\'\\\n])+\'',
                  lambda found: '""' if found.group()[0] == '"' else " ", text, flags=re.S)
    text = re.sub(r"\\\n", " ", text)
    out, branches = [], []  # of each #if: where its first text ended, or None
    for line in text.split("\n"):
        directive = re.match(r"\s*#\s*(\w+)", line)
        if not directive:
            out.append(line)
            continue
        word = directive.group(1)
        if word in ("if", "ifdef", "ifndef"):
            branches.append([len(out), None])
        elif word in ("elif", "else", "endif") and branches:
            begin, end = branches[-1]
            first = "\n".join(out[begin:end if end is not None else len(out)])
            if end is None:
                branches[-1][1] = len(out)
            elif any(first.count(a) != first.count(b) for a, b in BRACKETS.items()):
                del out[end:]  # the first one opens or closes what this one does as well
            if word == "endif":
                branches.pop()
    return "\n".join(out)


def closing(code, at):
    """Behind the bracket that closes the one at `at`."""
    open_ones = []
    while at < len(code):
        if code[at] in BRACKETS:
            open_ones.append(BRACKETS[code[at]])
        elif code[at] in ")]}":
            if code[at] != open_ones.pop():
                raise ValueError("brackets do not match: " + code[max(0, at - 60):at + 1])
            if not open_ones:
                return at + 1
        at += 1
    raise ValueError("a bracket is not closed")


def behind_angles(code, at):
    """Behind the > that closes the < at `at`."""
    depth = 0
    while True:
        if code[at] in BRACKETS:
            at = closing(code, at)
            continue
        if code[at] == "<":
            depth += 1
        elif code[at] == ">" and code[at - 1] not in "-=":
            depth -= 1
        at += 1
        if depth == 0:
            return at


def without_template(head):
    """A declaration without `template <...>` and `requires ...` in front, and whether that was `template <>`."""
    is_special = False
    while found := re.match(r"template\s*(?=<)", head):
        end = behind_angles(head, found.end())
        is_special = not head[found.end() + 1:end - 1].strip()
        head = without_requires(head[end:].strip())
    return head, is_special


def without_requires(head):
    """A declaration without the requires clause in front: terms that && and || join."""
    found = re.match(r"requires\b\s*", head)
    while found:
        head = head[found.end():]
        if word := re.match(r"requires\b\s*(?=[({])", head):
            at = word.end()
            if head[at] == "(":
                at = head.index("{", closing(head, at))
            at = closing(head, at)
        elif head[0] == "(":
            at = closing(head, 0)
        else:
            at = re.match(r"!*[\w:]+", head).end()
            while part := re.match(r"[<(]|::[\w:]+", head[at:]):
                at = {"<": behind_angles, "(": closing}.get(part.group(), lambda _, here: here + part.end())(head, at)
        head = head[at:].strip()
        found = re.match(r"(?:&&|\|\|)\s*", head)
    return head


def is_class(head):
    return re.match(r"(enum class|enum struct|enum|class|struct|union)\s+[\w:]+(\s*<.*>)?(\s+final)?\s*(:(?!:)|\{|$)", head, re.S) is not None


def declared(head):
    """(kind, name) of each thing that a declaration declares."""
    head = re.sub(r"\[\[.*?\]\]|\b(?:alignas|__attribute__)\s*\((?:[^()]|\([^()]*\))*\)", " ", head)
    head = re.sub(r"\s+", " ", head).strip()
    head, is_special = without_template(head)
    if is_special or re.match(r"(extern )?template\b|static_assert\b|friend\b|using namespace\b|namespace \w+ =", head):
        return []
    if found := re.match(r"(concept|using) ([\w:]+)", head):
        kind, name = found.groups()
        return [(kind, name if "=" in head else re.split(r"::|\s", head)[-1])]
    if is_class(head):
        kind, name, arguments = re.match(r"(enum|class|struct|union)(?: class| struct)? ([\w:]+)(\s*<)?", head).groups()
        return [] if arguments or "::" in name else [(kind, name)]
    plain = without_inner(head)
    value = re.search(r"(?<![=!<>+*/|&^-])=(?!=)", plain)
    for found in re.finditer(r"(operator\s*(?:\(\)|\"\"\s*\w+|[^\s\w(]+|\w+)|[\w:~]+)\s*(?:<>)?\s*\(\)", plain[:value.start()] if value else plain):
        name = re.sub(r"\s+", "", found.group(1))
        if name not in NOT_NAMES:
            return [] if "::" in name else [("function", name)]
    # Variables: several, with commas between them, perhaps.
    out = []
    for each in plain.split(","):
        found = re.search(r"([\w:]+)\s*(<>)?\s*(?:\[\]\s*)*(?:\{\}\s*|=.*)?$", each.strip())
        if found and not found.group(2) and "::" not in found.group(1):
            out.append(("variable", found.group(1)))
    return out


def without_inner(head):
    """A declaration with nothing between brackets, also between < and >."""
    out, at = "", 0
    while at < len(head):
        if head[at] in BRACKETS and not re.search(r"operator\s*$", out):
            out += head[at] + BRACKETS[head[at]]
            at = closing(head, at)
            continue
        out += head[at]
        at += 1
    for operator in re.findall(r"operator\s*[<>=!+*/|&^%~-]+", out):
        out = out.replace(operator, "operator" + "".join({"<": "\1", ">": "\2"}.get(c, c) for c in operator[8:].strip()))
    out = out.replace("->", "\3")
    while re.search(r"<[^<>]+>", out):
        out = re.sub(r"<[^<>]+>", "<>", out)
    return out.replace("\1", "<").replace("\2", ">").replace("\3", "->")


def macros_of(text):
    """What macros with parameters stand for: {name: (parameters, text)}"""
    out = {}
    for name, parameters, body in re.findall(r"^[ \t]*#[ \t]*define[ \t]+(CCOLL_\w+)\(([^)]*)\)((?:[^\n]*\\\n)*[^\n]*)", text, re.M):
        out.setdefault(name, ([each.strip() for each in parameters.split(",")], code_of(body.replace("\\\n", " "))))
    return out


def replaced(call, macros):
    """The text that a macro stands for, or None if it is not known."""
    name, arguments = re.match(r"\s*(\w+)\s*\((.*)\)\s*$", call, re.S).groups()
    if name not in macros:
        return None
    parameters, body = macros[name]
    begin, at, values = 0, 0, []
    while at < len(arguments):
        if arguments[at] in BRACKETS:
            at = closing(arguments, at)
            continue
        if arguments[at] == "," and (len(values) + 1 < len(parameters) or parameters[-1] != "..."):
            values.append(arguments[begin:at].strip())
            begin = at + 1
        at += 1
    values.append(arguments[begin:].strip())
    values += [""] * (len(parameters) - len(values))
    known = dict(zip(["__VA_ARGS__" if each == "..." else each for each in parameters], values))
    body = re.sub(r"\b\w+\b", lambda word: known.get(word.group(), word.group()), body)
    return re.sub(r"\s*##\s*", "", body)


def names(text, macros):
    """The (kind, qualified name) of all that a header declares in ccoll, as they come."""
    return names_in(code_of(text), macros, [])


def names_in(code, macros, outer):
    at, begin, scopes = 0, 0, list(outer)

    def note(head):
        head = re.sub(r"^(?:\s*CCOLL_\w+(?=\s+[^\s(=;,]))+(?!\s*\()", " ", head)
        whole = [part for scope in scopes for part in scope.split("::") if part not in ("", "extern")]
        if whole[:1] == ["ccoll"] and "detail" not in whole and "" not in scopes:
            for kind, name in declared(head.strip()):
                yield kind, "::".join(whole + [name])

    while at < len(code):
        c = code[at]
        if c == ";":
            yield from note(code[begin:at])
            at += 1
            begin = at
        elif c == "}":
            if len(scopes) == len(outer):
                raise ValueError("a bracket closes nothing")
            scopes.pop()
            at += 1
            begin = at
        elif c == "{":
            head = code[begin:at].strip()
            if scope := re.search(r'(?:^|[\s;}])(?:namespace\b([\w:\s]*)|extern "")$', head):
                # An inline namespace does not count, and nothing is public in an unnamed one.
                name = scope.group(1) or ""
                scopes.append(re.sub(r"::\s*inline\s+CCOLL_ABI|\s", "", name) if name.strip() else "extern" if "extern" in scope.group() else "")
                at += 1
                begin = at
                continue
            at = closing(code, at)
            plain, _ = without_template(re.sub(r"\[\[.*?\]\]|\bCCOLL_\w+(?!\s*\()", " ", re.sub(r"\s+", " ", head)).strip())
            outside = without_inner(plain)
            goes_on = (is_class(plain) or re.search(r"\brequires\s*(\(\))?$", outside) or ")" not in outside or
                       re.search(r"(?<![=!<>])=(?!=)", re.sub(r"operator\s*\S+", "", outside)))
            if not goes_on:
                yield from note(head)
                begin = at
        elif c in "([":
            end = closing(code, at)
            if c == "(" and re.match(r"\s*CCOLL_\w+\s*$", code[begin:at]):  # with or without a semicolon
                inner = replaced(code[begin:end], macros)
                if inner is not None:
                    yield from names_in(inner + ";", macros, scopes)
                else:
                    yield from note("macro " + code[begin:end])
                begin = end
            at = end
        else:
            at += 1
    if len(scopes) != len(outer):
        raise ValueError("a namespace is not closed")


def names_of_tree(include):
    texts = {path.relative_to(include).as_posix(): path.read_text() for path in sorted(include.rglob("*")) if path.suffix in (".hpp", ".cuh")}
    macros = {}
    for text in texts.values():
        macros.update(macros_of(text))
    lines = set()
    for header, text in texts.items():
        try:
            lines.update(f"{header}: {kind} {name}" for kind, name in names(text, macros))
        except ValueError as why:
            sys.exit(f"{header}: {why}")
    return sorted(lines, key=lambda line: line.replace(": ", " "))


def check_itself():
    text = r'''
// namespace ccoll { int comment(); }
#define CCOLL_X namespace other {
#define CCOLL_FORMS(call, n) \
    template <class T> int call(T x); \
    inline int i##call(int) { return n; }
namespace ccoll::inline CCOLL_ABI {
struct before;                      /* struct not_this; */
template <class T = decltype([] { return 1; }), int N = (3 > 2)> requires (N > 1) struct cut { int member(); void f() { struct no {}; } };
template <> struct cut<int, 3> {};
template <class T> requires before_of<T, true>::value && (!requires(T t) { t(); } || requires { T{}; }) struct cut<T, 2> { static constexpr int n = x::y; };
template <class T> struct cut<T*, 1> final : before { T inner{}; };
enum class kind : int { one, two };
template <class T> concept small = requires(T t) { { t.size() } -> same<int>; } && sizeof(T) < 8;
template <class T> requires small<T> && (sizeof(T) > 1) constexpr auto sum(const T& a, int (*f)(int) = nullptr) noexcept(noexcept(f(1))) -> T { return a; }
[[nodiscard, gnu::cold]] inline const char* words(kind k) noexcept { return k == kind::one ? "{" : "}"; }
CCOLL_OPAQUE int opaque(int a, std::map<int, int> b = {});
inline constexpr int limit = sum(1) > 2 ? 3 : 4, other_limit = 5;
template <class T> inline constexpr int looked_up = [] { using plain = T; struct inner {}; return 1; }();
inline constexpr std::array<int, 2> pair{1, 2};
template <class T> inline constexpr bool is_it = false;
template <class T> inline constexpr bool is_it<T*> = true;
constexpr bool operator<(const before& a, const before& b) { return true; }
constexpr bool operator==(const before&, const before&) = default;
using handler = void (*)(int) noexcept;
using std::swap;
int before_member::outside() { return 1; }
CCOLL_FORMS(allmax, 3)
CCOLL_FORMS(allmin, 3);
static_assert(limit > 3, "text");
inline int digits = 1'000'000; inline char quote = '"';
#if defined(A)
inline void either(int a) {
#else
inline void either(long a) {
#endif
}
namespace detail { int hidden(); struct hidden_too {}; }
namespace { int unnamed(); }
namespace policies::Codec { struct SZp : tag { static constexpr int id = 1; }; }
inline namespace later { int in_later(); }
}  // namespace ccoll
namespace ccoll::inline CCOLL_ABI::detail { int hidden_as_well(); }
namespace std { template <> struct hash<ccoll::before> {}; int foreign(); }
extern "C" { int of_c(); }
namespace ccoll { extern "C" { int of_c_in_ccoll(); } }
template <> struct std::is_error_code_enum<ccoll::kind> : std::true_type {};
'''
    right = ["struct before", "struct cut", "enum kind", "concept small", "function sum", "function words", "function opaque", "variable limit",
             "variable other_limit", "variable looked_up", "variable pair", "variable is_it", "function operator<", "function operator==", "using handler", "using swap",
             "function allmax", "function iallmax", "function allmin", "function iallmin", "variable digits", "variable quote", "function either",
             "struct policies::Codec::SZp", "function later::in_later", "function of_c_in_ccoll"]  # an inline namespace of its own
    expected = [line.replace(" ", " ccoll::", 1) for line in right]
    found = list(dict.fromkeys(f"{kind} {name}" for kind, name in names(text, macros_of(text))))
    wrong = [f"misses: {line}" for line in expected if line not in found] + [f"should not have: {line}" for line in found if line not in expected]
    if wrong:
        sys.exit("\n".join(wrong))


def main():
    if sys.argv[1:] == ["--check-itself"]:
        return check_itself()
    include, path = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    found = names_of_tree(include)
    if not found:
        sys.exit(f"no names in {include}")
    if sys.argv[3:] == ["--write"]:
        path.write_text("".join(line + "\n" for line in found))
        return
    known = path.read_text().splitlines() if path.exists() else []
    wrong = [f"new:  {line}" for line in found if line not in known] + [f"gone: {line}" for line in known if line not in found]
    if not wrong and known != found:
        wrong = ["the lines are not in the order of the list"]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(found)} public names are on the list")


main()
