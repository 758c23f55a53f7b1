#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Instructions per value of the device kernels, from their machine code for sm_90, and the bounds on speed that follow for an H100.

    tests/cuda/kernels/instructions.py [--nvcc NVCC] [--nvdisasm NVDISASM] [--work FOLDER] [--lines 'szp encode f32']

No GPU is needed, and nothing is measured. Each file of kernels is compiled with line information and disassembled. Of the control flow
graph of a kernel those basic blocks are kept that a warp comes to on the usual way. Which source lines it never comes to, and which it runs
more than once, is said by rules below, because machine code does not tell. A rule that fits no line any more is an error. Functions that
are not inlined (CCOLL_DEVICE_RARE) are never on the usual way. --lines shows what is counted of one kernel, to check the rules.

Counted are instructions that are issued for a warp, whether or not all of its threads take part, over the values of a thread. Where both
arms of a branch are usual, both are counted. Waiting is not: for memory, at barriers, for other thread blocks.
"""
import argparse
import collections
import math
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]

# H100 SXM. Multiprocessors and memory are those of the data sheet. The clock is an assumption: the 67 TFLOP/s of f32 of the data sheet are
# reached at 1.98 GHz. What a multiprocessor does in a cycle is in the CUDA programming guide, for compute capability 9.0.
MULTIPROCESSORS, CLOCK, MEMORY = 132, 1.755e9, 3.35e12
ISSUED, OF_INTEGERS = 4 * 32, 64  # lanes per multiprocessor and cycle: of any instruction; of the pipe of integers, and of that of doubles
INTEGERS = set("""BMSK FLO FMNMX FSEL FSETP IABS IADD3 ISETP LEA LOP3 MOV PLOP3 PRMT SEL SGXT SHF VIADD VIADDMNMX VIMNMX VIMNMX3""".split())
DOUBLES = set("DADD DFMA DMUL DSETP".split())

WARPS, VALUES = 8, 32  # of a thread block; of a thread
ONE_WARP = 1 / WARPS


class Kernel:
    """A kernel, its usual way, and what is assumed of its data.

    symbol: part of its mangled name. size: bytes of a value. bits: per value after encoding. moved: bytes per value.
    never: lines that are not run. times: lines that a warp runs so often, 1/8 for what one of eight warps does. A line with a loop also has
    what prepares the loop: there, the number goes by the loops around an instruction: (in none, in one, in two, ...). jumps: lines with a
    branch whose jump is always taken. A line is named by a part of its text; a => b is line b where it is inlined in line a.
    """

    def __init__(self, name, file, symbol, size, bits, moved, never, times, jumps=()):
        self.name, self.file, self.symbol, self.size, self.bits, self.moved = name, file, symbol, size, bits, moved
        self.never, self.times, self.jumps = never, times, jumps


def both(size, bits):
    """Values and their code."""
    return size + bits / 8


def three_codes(_, bits):
    """A sum of two addends."""
    return 3 * bits / 8


def pieces(bits):
    """Turns of a loop of a thread block over the 16-byte pieces of a chunk of 8192 values."""
    return 1, bits * 8192 / 8 / 16 / 256


# What ends an encoder, stages values and copies raw chunks
NEVER = ["if (chunk == 0) writer.put_header => frame.cuh", "writer.end_launch(s, out); => frame.cuh", "stand_by();",
         "if ((word & state_mask) == 0) word", "put_raw_elements(x, count, to)", "const u32 filled = (count +",
         "for (u32 i = me(); i < filled; i += team_threads) stage_one", "atomicAdd(&s-> => __uAtomicAdd("]
TIMES = dict.fromkeys(["const u64 before = look_back(", "if (lane() == 0) room.place = before;", "publish_size(s, chunk, units);",
                       "writer.put_entry(", "if (me() == 0) room = count_up"], ONE_WARP)
# The same of a decoder
NEVER_DECODING = ["get_raw_elements(", "report(s, static_cast<u32>(mine)) => atomicMax(",
                  "for (u32 i = me(); i < count; i += team_threads) put_element"]
TIMES_DECODING = dict.fromkeys(["check_header(n, chunks)", "s.step = !is_small<E>", "room.step = !is_small<E>",
                                "if (me() == 0) room = count_up"], ONE_WARP)


def szp(size, letter):
    """SZp: narrow chunks with up to 8 planes in each block, no lists, no steep block, not noise."""
    name, bits = f"f{8 * size}", 6.27
    wide = [f"octet(std::integral_constant<u32, {o}>{{}}); => {what}" for o in (1, 2, 3) for what in ("planes_of<", "to[first + k] = w[k]")]
    lists = ["u8* const lists = ", "*at++ = list_entry(", "if (me() < blocks && l.code <= most_listed)", "u8* at = lists + l.list_before;",
             "lists[l.list_bytes + me()] = 0;", "// for the codes, which lists changed", "const u32 ones = narrow_enough ? non_zero() : 0;",
             "ones += d[i] != 0;", "r.code = can_be_list ?"]
    other_ways = ["raw = words >= raw_words", "if (me() < words_behind)"]
    encode = Kernel(f"szp encode {name}", "szp.cu", f"szpencodeI{letter}E", size, bits, both, NEVER + wide + lists + other_ways,
                    {**TIMES, "sample_noise<T>([&]": ONE_WARP * 8 / size, "lattice_of_warp(": ONE_WARP,
                     "put_codes(l, blocks, s.layout, image + 3);": 1 / 2, "put_pieces(room.values, units, to);": pieces(bits)})
    decode = Kernel(f"szp decode {name}", "szp.cu", f"szpdecodeI{letter}E", size, bits, both,
                    NEVER_DECODING + [
                        "decode_chunk<T, true>(from, count, s) => if (bytes < 12", "const u8* const list = s.bytes", "listed ? 3 : p.width",
                        "for (u32 j = 0; j < p.listed; ++j)", "const u32 e = list[j]", "get_differences<2>(", "get_differences<4>("],
                    {**TIMES_DECODING, "put_pieces(from.at, (from.bytes": pieces(bits)}, ["if (h.is_flat()) {"])
    add = Kernel(f"szp add {name}", "szp.cu", f"szp3addI{letter}LNS3_9addend_ofE1E", size, bits, three_codes,
                 NEVER + ["if (me() < fill / 4) store_as", "width = add_planes(",
                          "add_planes(x, y, 32, [&]", "if (me() == 0 && !slow.is_sum", "report(s, static_cast<u32>(code)) => atomicMax(",
                          "end_adding(writer, n, bound, s, out); => layout.cuh"],
                 {**TIMES, "check_operands(": ONE_WARP, "put_pieces(room.values, units, to);": pieces(bits)})
    return [encode, decode, add]


def szx(size, letter):
    """SZx: counts of one byte in all blocks, whose extremes prove the bound."""
    name, symbol = f"f{8 * size}", f"INS3_9format_ofILj1ELj8192EEE{letter}E"
    bits = 8 + (8 * size + 8) / 128  # of a block of 128 also the middle value and a code
    never = ["return with_bytes<T, Bytes + 1>"]
    encode = Kernel(f"szx encode {name}", "szx.cu", "szx6encode" + symbol, size, bits, both,
                    NEVER + never + ["v[r][j] = number_of(bits_at(x, smaller(", "good && passes(",
                                     "const T middle = __shfl_sync(all_lanes, plan.middle, r), origin",
                                     "put_words<Whole>(to + sizeof(T) * (first + j)"],
                    {**TIMES, "put_pieces(room.image, units, to);": pieces(bits)},
                    ["if (count == Format::chunk_elements) put_blocks<true>("])
    decode = Kernel(f"szx decode {name}", "szx.cu", "szx6decode" + symbol, size, bits, both,
                    NEVER_DECODING + never + ["const word_reader values(from", "v[j] = number_at<T>(values, j)",
                                              "if (first + j < here) put_element", "if (shift > 0) w = w >> shift"],
                    {**TIMES_DECODING, **dict.fromkeys(["block += team_warps)", "decode_block(codes + blocks",
                                                        "smaller(block_elements, count - block_elements * block), step"], (1, 8))})
    return [encode, decode]


def zfp(size, letter, rate, octets, steps):
    """ZFP at a rate of so many bits per value. A thread has eight blocks of four.

    octets: turns of the loop over eight planes of a block. steps: all turns of the inner loop of a block, over pairs of planes or steps of
    several. Both are those of the one block in a warp that has most.
    """
    name = f"f{8 * size} {rate} bits"
    per_octet, per_step = (1, 1, octets), (1, 1, octets, steps)
    block = "encode_block(x, block_bits, s.codes, to);"
    encode = Kernel(f"zfp encode {name}", "zfp.cu", f"zfp6encodeI{letter}E", size, rate, both,
                    NEVER + ["mask |= u32{!is_finite(v[i])}", "to.pad(block_bits);", "for (; count > 32; count -= 32) put(0, 32);",
                             "else put_bytes(4);", "put_bytes((have_ + 7) / 8)", "if ((exceptions >> (b + i) & 1)"],
                    {**TIMES, "put_pieces(room.image(), found.all": pieces(rate),
                     **dict.fromkeys(["b < 32 && first + b < count; b += block_values", "load_block(s.values, first + b, x);",
                                      "const u32 here = count - first - b;", "x[1] = x[0];", "x[2] = x[1];", "x[3] = x[0];", block],
                                     (1, 8)),
                     **dict.fromkeys([f"{block} => {t}" for t in [
                         "for (u32 octet = sizeof(T)", "--octet;", "const u32 planes = reversed(", "if (done < 32 && left > 0)",
                         "smaller(32 - done, left)", "to.put(planes >> done", "left -= length;"]], per_octet),
                     **dict.fromkeys([f"{block} => {t}" for t in [
                         "for (; done < 32", "const u32 code = codes.of", "smaller(pair_table::length(code), left)",
                         "to.put(code & ones_below", "row = pair_table::row(code);"]], per_step)})
    block = "decode_block(from.at, value"
    decode = Kernel(f"zfp decode {name}", "zfp.cu", f"zfp6decodeI{letter}E", size, rate, both, NEVER_DECODING,
                    {**TIMES_DECODING,
                     **dict.fromkeys(["b < 32 && 32 * me() + b < count; b += block_values", block, "stage_one<T>(s.values, value + i"],
                                     (1, 8)),
                     **dict.fromkeys([f"{block} => {t}" for t in [
                         "for (u32 octet = sizeof(T)", "--octet;", "if (count < 8 && left > 0)", "smaller(32 - 4 * count, left)",
                         "planes |= u64{from.peek(used)", "const u32 bytes = bytes_of", "c[3 - i] |= static_cast<",
                         "count = count > 8"]], per_octet),
                     **dict.fromkeys([f"{block} => {t}" for t in [
                         "while (count < 8 && left > 0", "const u32 next = from.peek(7)", "const bool last = left < 7", "const u32 step = steps.of",
                         "const u32 used = last ?", "planes |= u64{step_table", "count += step_table", "row = step_table",
                         "from.drop(used);", "left -= used;"]], per_step)})
    return [encode, decode]


KERNELS = (szp(4, "f") + szp(8, "d") + szx(4, "f") + szx(8, "d") + zfp(4, "f", 8, 2, 6) + zfp(4, "f", 16, 3, 7) + zfp(8, "d", 8, 2, 6) +
           zfp(8, "d", 16, 3, 7))


class Instruction:
    def __init__(self, text, chain):
        self.text, self.chain = text, chain
        self.bare = re.sub(r"^@!?U?P\w+\s+", "", text)
        self.guarded = self.bare != text
        self.full = self.bare.split()[0]
        self.op = self.full.split(".")[0]


class Block:
    def __init__(self):
        self.code, self.next, self.join = [], [], False


SOURCES = {}


def source_line(path, number):
    if path not in SOURCES:
        SOURCES[path] = pathlib.Path(path).read_text(errors="replace").splitlines() if pathlib.Path(path).exists() else []
    lines = SOURCES[path]
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def functions_of(disassembly):
    """Yields (symbol, lines) of each kernel: without the functions that it calls."""
    symbol, lines = None, []
    for line in disassembly.splitlines():
        head = re.match(r"^(\.text\.|\$)(\S+):", line)
        if head or line.startswith("\t.section"):
            if symbol:
                yield symbol, lines
            symbol, lines = (head[2] if head and head[1] == ".text." else None), []
        elif symbol:
            lines.append(line)
    if symbol:
        yield symbol, lines


def blocks_of(lines):
    """The control flow graph, from the first block on. Where threads of a warp have parted before a collective (BRA.DIV) is left out."""
    blocks, labels, pending = [Block()], {}, []
    chain, fresh, joins = [], True, {}
    for line in lines:
        label = re.match(r"^(\.L_\w+):", line)
        where = re.match(r'\s*//## File "([^"]+)", line (\d+)', line)
        code = re.match(r"\s*/\*[0-9a-f]{4,6}\*/\s+(.*?)\s*;", line)
        if label:
            if blocks[-1].code:
                blocks[-1].next.append(len(blocks))
                blocks.append(Block())
            labels[label[1]] = len(blocks) - 1
        elif where:
            if fresh:
                chain, fresh = [], False
            chain.insert(0, (where[1], int(where[2])))
        elif code:
            fresh = True
            i = Instruction(code[1], tuple(chain))
            blocks[-1].code.append(i)
            target = re.search(r"`\((\.L_\w+)\)", i.text)
            if i.op == "BSSY":
                joins.setdefault(re.search(r"B\d+", i.text)[0], set()).add(target[1])
            if i.op in ("BRA", "EXIT", "RET", "BSYNC") and i.full != "BRA.DIV":
                pending.append((len(blocks) - 1, i, target and target[1]))
                blocks.append(Block())
                blocks[-1].join = i.op == "BSYNC"
    for at, i, target in pending:
        fall = True
        if i.op == "BRA":
            blocks[at].next.append(labels[target])
            fall = i.guarded or re.match(r"BRA\S*\s+!?U?P\d", i.bare) is not None
        elif i.op == "BSYNC":  # threads meet at the label that the BSSY names, which is the next one
            fall = any(labels[l] == at + 1 for l in joins[re.search(r"B\d+", i.text)[0]])
            if not fall:
                blocks[at].next += [labels[l] for l in joins[re.search(r"B\d+", i.text)[0]]]
        else:
            fall = i.guarded
        if fall and at + 1 < len(blocks):
            blocks[at].next.append(at + 1)
    return blocks


def fits(rule, chain):
    """Does a chain of places, outermost first, have the parts of a rule in this order? A part is text of a line, or the name of a file."""
    parts = [p.strip() for p in rule.split(" => ")]
    for path, number in chain:
        if parts and (parts[0] in source_line(path, number) or path.endswith("/" + parts[0])):
            parts.pop(0)
    return not parts


USUAL_CALLS = ("check_operands", "__internal_")  # by one thread; a quotient of doubles that is not usual


def is_cut(block, never):
    """Is most of a block never run, or does it call a function that is not inlined because it is rare? Where ways meet again, lines are
    those of one of them, and say nothing."""
    if any(i.op == "CALL" and not any(c in i.text for c in USUAL_CALLS) for i in block.code):
        return True
    if block.join:
        return False
    own = [i for i in block.code if i.op not in ("BSYNC", "BRA", "WARPSYNC")]
    return len(own) > 1 and 2 * sum(bool(never(i)) for i in own) > len(own)


def reached(starts, edges, allowed):
    found, todo = set(), list(starts)
    while todo:
        at = todo.pop()
        if at not in found and allowed(at):
            found.add(at)
            todo += edges[at]
    return found


def depths(nodes, edges):
    """In how many loops each block is: a strongly connected component is a loop, and without its first block its inner loops are left."""
    depth, left = dict.fromkeys(nodes, 0), set(nodes)
    while left:
        at = min(left)
        ahead = reached(edges[at], edges, nodes.__contains__)
        loop = {n for n in ahead if at in reached(edges[n], edges, nodes.__contains__)} & ahead if at in ahead else set()
        left -= loop | {at}
        if loop:
            depth.update({n: d + 1 for n, d in depths(loop - {at}, edges).items()} | {at: 1})
    return depth


def count(kernel, disassembly):
    """[(instruction, times)] of the usual way, and the rules that fit a line."""
    found = [lines for symbol, lines in functions_of(disassembly) if kernel.symbol in symbol]
    if len(found) != 1:
        sys.exit(f"{kernel.name}: {len(found)} kernels have {kernel.symbol} in their names")
    blocks, used = blocks_of(found[0]), set()

    def fitting(rules, i):
        hits = [r for r in rules if fits(r, i.chain)]
        used.update(hits)
        return hits

    cut = [is_cut(b, lambda i: fitting(kernel.never, i)) for b in blocks]
    for at, b in enumerate(blocks):
        last = b.code[-1] if b.code and b.code[-1].op == "BRA" and b.code[-1].chain else None
        jump = [r for r in kernel.jumps if last and r in source_line(*last.chain[-1])]
        used.update(jump)
        if jump:
            b.next.remove(at + 1)
    before = collections.defaultdict(list)
    for at, b in enumerate(blocks):
        for n in b.next:
            before[n].append(at)
    begun = reached([0], [b.next for b in blocks], lambda at: not cut[at])
    usual = reached([at for at in begun if any(i.op == "EXIT" for i in blocks[at].code)], before, begun.__contains__)
    if 0 not in usual:
        sys.exit(f"{kernel.name}: no way is left from the begin to the end")
    depth = depths(usual, [b.next for b in blocks])

    def turns(at, i):
        rules = [kernel.times[r] for r in fitting(kernel.times, i)]
        return math.prod(r[min(depth[at], len(r) - 1)] if isinstance(r, tuple) else r for r in rules)

    counted = [(i, turns(at, i)) for at in sorted(usual) for i in blocks[at].code]
    return counted, used


def speeds(kernel, counted):
    """Instructions per value: all, of the pipe of integers, of that of doubles; then what memory, issue and pipes allow, in multiples of
    a device-to-device copy of the same values."""
    def per_value(ops=None):
        return sum(times for i, times in counted if ops is None or i.op in ops) / VALUES

    copy = MEMORY / (2 * kernel.size)  # values per second
    found = per_value(), per_value(INTEGERS), per_value(DOUBLES)
    pipe = max(found[1:])
    moved = kernel.moved(kernel.size, kernel.bits)
    return (*found, moved, MEMORY / moved / copy, MULTIPROCESSORS * CLOCK * ISSUED / found[0] / copy,
            MULTIPROCESSORS * CLOCK * OF_INTEGERS / pipe / copy)


def print_lines(counted):
    lines = collections.defaultdict(lambda: [0, 0.0])
    for i, times in counted:
        lines[i.chain[:4]][0] += 1
        lines[i.chain[:4]][1] += times
    for chain, (instructions, issued) in sorted(lines.items()):
        print(f"{instructions:5} {issued:8.1f}  " + " => ".join(f"{pathlib.Path(p).name}:{n} {source_line(p, n)[:60]}" for p, n in chain))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--nvcc", default="nvcc")
    options.add_argument("--nvdisasm", default="nvdisasm")
    options.add_argument("--work", help="a folder in which what is compiled is kept, and used again")
    options.add_argument("--lines", metavar="KERNEL", help="instructions of one kernel by lines: in the code, and issued per thread")
    given = options.parse_args()
    work = pathlib.Path(given.work or tempfile.mkdtemp())
    disassembled, rules, used = {}, set(), set()
    if not given.lines:
        print("| kernel | instructions per value | integer pipe | bytes per value "
              "| memory allows | issue allows | pipes allow | the least |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for kernel in KERNELS:
        if given.lines and given.lines != kernel.name:
            continue
        if kernel.file not in disassembled:
            cubin = work / (kernel.file[:-3] + ".cubin")
            if not cubin.exists():
                subprocess.run([given.nvcc, "-std=c++20", "-O2", "-lineinfo", "-arch=sm_90", "-cubin", f"-I{ROOT}/include",
                                str(HERE / kernel.file), "-o", str(cubin)], check=True)
            disassembled[kernel.file] = subprocess.run([given.nvdisasm, "-c", "-gi", str(cubin)], check=True, capture_output=True,
                                                       text=True).stdout
        counted, fitting = count(kernel, disassembled[kernel.file])
        rules |= {*kernel.never, *kernel.times, *kernel.jumps}
        used |= fitting
        if given.lines:
            return print_lines(counted)
        every, integers, doubles, moved, *allowed = speeds(kernel, counted)
        bounds = " | ".join(f"{x:.2f}" for x in (*allowed, min(allowed)))
        print(f"| {kernel.name} | {every:.0f} | {integers:.0f} | {moved:.2f} | {bounds} |")
    if rules != used:
        sys.exit(f"no line fits {sorted(rules - used)}")


if __name__ == "__main__":
    main()
