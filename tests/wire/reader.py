#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second reader of frames, written from docs/wire_format.md alone. It shares no code with the library.

    reader.py <folder of golden/*.hex>

Decodes every frame of every file. The decoded values must equal those of the library bit for bit; the files contain a hash of these. They must
also be within the bound of the original values, which the files contain as well.
"""
import fractions
import functools
import math
import pathlib
import struct
import sys

NONE, SZX, PIPE_SZX, SZP, LOSSLESS, BIT_ZIP, BIT_WISE, BYTE_ZIP, BIT_CUT, ZFP, BIT_MASK, SZE = range(12)
# dtype: name, bytes of an element, format character of struct, bits of the mantissa field
FLOATS = {0: ("f32", 4, "<f", 23), 1: ("f64", 8, "<d", 52), 2: ("half", 2, "<e", 10), 3: ("bfloat16", 2, None, 7)}
STEPS = {0: (94, -8, 10), 1: (990, -20, 22)}  # exponents of the largest bound and of the margin, both of 2; significant bits of the step


class Corrupt(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Corrupt(what)


def pad4(n):
    return (n + 3) // 4 * 4


def pad16(n):
    return (n + 15) // 16 * 16


def number(data, at, kind):
    return struct.unpack_from("<" + kind, data, at)[0]


def rounded(x, dtype):
    """A Python float, rounded to the nearest number of the element type. The result is a Python float, too."""
    if dtype == 1 or math.isnan(x) or math.isinf(x):
        return x
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def bits_of(x, dtype):
    return struct.pack(FLOATS[dtype][2], x)


def two_bytes(f32_bits, dtype, within_range):
    """Rounds an f32, given as bytes, to the nearest half or bfloat16, ties to even.

    A number beyond the largest one becomes the largest one if `within_range`, and otherwise an infinity.
    """
    exponent_bits, mantissa_bits = (5, 10) if dtype == 2 else (8, 7)
    word = struct.unpack("<I", f32_bits)[0]
    sign, magnitude = word >> 31 << 15, word & 0x7FFFFFFF
    infinity = ((1 << exponent_bits) - 1) << mantissa_bits
    if magnitude > 0x7F800000:  # a NaN keeps the high bits of its payload
        return struct.pack("<H", sign | infinity | (magnitude & 0x7FFFFF) >> (23 - mantissa_bits))
    if magnitude == 0x7F800000:
        return struct.pack("<H", sign | infinity)
    x = fractions.Fraction(struct.unpack("<f", struct.pack("<I", magnitude))[0])
    least = 2 - (1 << (exponent_bits - 1))  # exponent of the smallest normal number
    exponent = max(math.frexp(float(x))[1] - 1, least) if x else least
    ulp = fractions.Fraction(2) ** (exponent - mantissa_bits)
    count = round(x / ulp)  # Python rounds ties to even
    encoded = count + ((exponent - least) << mantissa_bits)  # a mantissa that overflows raises the exponent
    return struct.pack("<H", sign | min(encoded, infinity - 1 if within_range else infinity))


def frame_parts(frame):
    """The fields of the header, and a pair (bytes, raw) for each chunk."""
    require(len(frame) >= 48 and frame[:4] == b"CCOL", "magic")
    require(frame[4] == 5, "version")
    h = {"codec": frame[5], "dtype": frame[6], "flags": frame[7], "quality": frame[32], "inner": frame[33]}
    h["n"], h["bound"], h["step"], h["chunks"] = struct.unpack_from("<QdII", frame, 8)
    require(h["flags"] in (0, 1, 3) and h["step"] > 0, "flags or chunk_elements")
    require(h["chunks"] == -(-h["n"] // h["step"]), "chunks")
    require(h["quality"] in ((0, 1, 2) if h["codec"] == ZFP else (0, 1)) and (h["quality"] == 0) == (h["bound"] == 0), "quality")
    require((h["inner"] in (BIT_ZIP, BIT_WISE, BIT_CUT) if h["codec"] == BIT_MASK else h["inner"] == 0) and frame[34:48] == bytes(14), "inner codec, row, trailer or reserved")
    chunks, start = h["chunks"], pad16(48 + 5 * h["chunks"])
    require(len(frame) >= start and not any(frame[48 + 5 * chunks:start]), "index")
    parts, begin = [], 0
    for i in range(chunks):
        entry, fill = number(frame, 48 + 4 * i, "I"), frame[48 + 4 * chunks + i]
        end = 16 * (entry & 0x7FFFFFFF)
        require(fill < 16 and begin + fill <= end <= len(frame) - start, "an end or a fill")
        require(not any(frame[start + end - fill:start + end]), "a fill that is not 0")
        parts.append((frame[start + begin:start + end - fill], entry >> 31 != 0))
        begin = end
    require(start + begin == len(frame), "bytes behind the frame")
    return h, parts


def special_places(section, at, n, flags=0):
    """Reads the places of a layer of special values. Returns them in ascending order, the head, and the offset of the values."""
    blocks = -(-n // 32)
    length = [min(32, n - 32 * k) for k in range(blocks)]
    head = number(section, at, "I")
    counts, dense = [head & 511, head >> 9 & 511, head >> 18 & 511], head >> 27 & 1
    require((head & ~flags) >> 29 == 0 and 0 < sum(counts) <= blocks, "the head of a layer")
    at += 4
    if dense:
        state = [section[at + k // 4] >> 2 * (k % 4) & 3 for k in range(blocks)]
        groups = [[k for k in range(blocks) if state[k] == form] for form in (1, 2, 3)]
        require([len(g) for g in groups] == counts, "the states of blocks")
        at += pad4(-(-blocks // 4))
    else:
        numbers = list(section[at:at + sum(counts)])
        require(len(set(numbers)) == sum(counts) and max(numbers) < blocks, "numbers of blocks")
        groups = [sorted(numbers[:counts[0]]), sorted(numbers[counts[0]:counts[0] + counts[1]]), sorted(numbers[counts[0] + counts[1]:])]
        at += pad4(sum(counts))
    places = []
    for j, k in enumerate(groups[1]):
        run = number(section, at + 2 * j, "H")
        require(run >> 11 == 0, "a run")
        inside = range(run & 31, (run >> 5 & 31) + 1)
        require(max(inside, default=32) < length[k], "the end of a run")
        places += [32 * k + i for i in range(length[k]) if (i in inside) != bool(run >> 10)]
    at += pad4(2 * counts[1])
    for j, k in enumerate(groups[0]):
        mask = number(section, at + 4 * j, "I")
        require(mask >> length[k] == 0, "a mask")
        places += [32 * k + i for i in range(32) if mask >> i & 1]
    at += 4 * counts[0]
    for k in groups[2]:
        places += range(32 * k, 32 * k + length[k])
    require(len({i // 32 for i in places}) == sum(counts), "a block without special values")
    return sorted(places), head, at


def add_specials(section, values, s):
    """Puts the special values of a chunk, as bytes, in their places."""
    at = 0
    while at < len(section):
        places, head, at = special_places(section, at, len(values))
        own = head >> 28 & 1
        for i in places:
            values[i] = section[at:at + s]
            require(len(values[i]) == s, "a special value")
            at += s * own
        at += 0 if own else s
    require(at == len(section), "layers that fill the section")


def fma(a, b, c):
    """a b + c, rounded once. `a` and `b` are finite."""
    if not math.isfinite(c):
        return c
    exact = fractions.Fraction(a) * fractions.Fraction(b) + fractions.Fraction(c)
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def add_fills(section, values, quanta, step, dtype):
    """Puts sums of multiples of the fill values of an addend in their places. `quanta` has None for NaN and infinities."""
    _, s, kind, _ = FLOATS[dtype]
    n, at, last, another = len(values), 0, -1, True
    sums, is_mixed, fills, pairs = {}, {}, 0, 0
    while another:
        bits, fill = int.from_bytes(section[at:at + s], "little"), struct.unpack_from(kind, section, at)[0]
        require(math.isfinite(fill) and fill != 0 and bits > last, "a fill value")
        last, at, another, before, fills, seen = bits, at + s, False, -1, fills + 1, set()
        while not another and (before < 0 or at < len(section)):
            places, head, at = special_places(section, at, n, 3 << 29)
            own, mixed, another = head >> 28 & 1, head >> 29 & 1, head >> 30 & 1
            require(mixed > before and not seen.intersection(places), "the order of layers, and a place in one of them")
            require(all(is_mixed.setdefault(i, mixed) == mixed for i in places), "layers that agree on whether a place is mixed")
            seen.update(places)
            before, pairs = mixed, pairs + len(places)
            times = [number(section, at + 2 * j * own, "h") for j in range(len(places))]
            at += pad4(2 * (len(places) if own else 1))
            for i, m in zip(places, times):
                if i in sums or (mixed and quanta[i] is not None):
                    sums[i] = fma(m, fill, sums[i] if i in sums else float(quanta[i]) * step)
                elif not mixed:
                    sums[i] = m * fill
    require(at == len(section) and fills <= 4 and pairs <= 2 * n, "fill values that fill the section")
    for i, value in sums.items():
        values[i] = bits_of(rounded(value, dtype), dtype)


def szx(chunk, n, dtype, bound):
    _, s, kind, mantissa = FLOATS[dtype]
    largest = {0: (2 - 2.0 ** -23) * 2.0 ** 127, 1: sys.float_info.max}[dtype]
    limit = rounded(min(bound, largest), dtype)
    if limit > bound:  # rounding has raised it: take the number below
        bits = int.from_bytes(bits_of(limit, dtype), "little") - 1
        limit = struct.unpack(kind, bits.to_bytes(s, "little"))[0]
    step = rounded(min(limit, largest / 16) * 1.9375, dtype)
    one_step = int.from_bytes(bits_of(2.0 ** mantissa, dtype), "little")  # the number whose last bit counts steps
    special = chunk[0] == 255
    if special:
        chunk = chunk[1:]
    blocks, at, out = -(-n // 128), -(-n // 128), []
    for b in range(blocks):
        code, m = chunk[b], min(128, n - 128 * b)
        require(code <= s, "a code of SZx")
        if code == s:
            out += [chunk[at + s * i:at + s * i + s] for i in range(m)]
            at += m * s
            continue
        middle = chunk[at:at + s]
        at += s
        offset = min(1 << (8 * code - 1), 1 << (mantissa - 1)) if code else 0
        for i in range(m):
            if code == 0:
                out.append(middle)
                continue
            # Upper bits that belong to the exponent of 2^23 (2^52) already are no part of the count.
            moved = struct.unpack(kind, (int.from_bytes(chunk[at:at + code], "little") | one_step).to_bytes(s, "little"))[0]
            at += code
            product = rounded(rounded(moved - (2.0 ** mantissa + offset), dtype) * step, dtype)
            out.append(bits_of(rounded(product + struct.unpack(kind, middle)[0], dtype), dtype))
    require(at < len(chunk) if special else at == len(chunk), "blocks of SZx that fill the chunk")
    if special:
        add_specials(chunk[at:], out, s)
    return out


def szp_step(dtype, bound):
    most, margin, significant = STEPS[dtype]
    exact = 2 * min(bound, 2.0 ** most) / (1 + 1.001 * 2.0 ** margin)
    bits = struct.unpack("<Q", struct.pack("<d", exact))[0] >> (53 - significant) << (53 - significant)
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def signed(value, width):
    return value - (1 << width) if width and value >> (width - 1) else value


def differences_of_planes(planes):
    return [signed(sum((p >> i & 1) << k for k, p in enumerate(planes)), len(planes)) for i in range(32)]


def szp(chunk, n, dtype, bound, addend, quanta=None):
    _, s, kind, _ = FLOATS[dtype]
    head = number(chunk, 0, "I")
    if not addend and head == 5:
        require(len(chunk) % 4 == 0, "a chunk of whole words")
        return lossless(chunk[4:], n, s, 3)
    what, packed, lowest = head & 15, head >> 4 & 1, head >> 5 & 127
    escaped, alone, lists = head >> 12 & 0x3FFFF, head >> 30 & 1, head >> 31
    require(what in (0, 1, 3, 4, 6) if addend else what in (0, 1, 2, 6) or (what == 7 and s == 4), "kind")
    has_rows = what >= 6
    if not addend and escaped:
        require(4 * escaped <= len(chunk) - 12, "a section of special values")
        values = szp(struct.pack("<I", head & ~(0x3FFFF << 12)) + chunk[4:len(chunk) - 4 * escaped], n, dtype, bound, addend)
        add_specials(chunk[len(chunk) - 4 * escaped:], values, s)
        return values
    if addend and alone:
        in_section, found = 4 * number(chunk, len(chunk) - 4, "I"), []
        require(0 < in_section <= len(chunk) - 16, "a section of fill values")
        end = len(chunk) - 4 - in_section
        values = szp(struct.pack("<I", head & ~(1 << 30)) + chunk[4:end], n, dtype, bound, addend, found)
        add_fills(chunk[end:len(chunk) - 4], values, found, szp_step(dtype, bound), dtype)
        return values
    step, largest = szp_step(dtype, bound), 0
    if what == 2:
        base, step = number(chunk, 4, "q" if s == 8 else "i"), struct.unpack_from(kind, chunk, 4 + s)[0]
        at = 4 + 2 * s
    elif what in (3, 4):
        base, largest, at = number(chunk, 4, "q"), number(chunk, 12, "Q"), 20
    elif has_rows:
        base, largest, row, plane, at = number(chunk, 4, "i"), number(chunk, 8, "I"), number(chunk, 12, "H"), number(chunk, 14, "H"), 16
        require(row >= 16 and row + plane < n and (plane == 0 or plane > row and plane >= 32), "the distances of rows and planes")
        require(largest < 1 << (22 if what == 7 else 15 if s == 4 and not addend else 28), "the quanta of rows")
        require(not alone, "quanta that do not stand alone")
        if what == 7:
            step, at = struct.unpack_from(kind, chunk, 16)[0], 20
    else:
        base, largest, at = number(chunk, 4, "i"), number(chunk, 8, "I"), 12
    in_double = what in (1, 3, 4) or (largest > 1 << 24 if s == 4 else what == 2)

    def value(q):
        if in_double:
            return bits_of(rounded(float(q) * step, dtype), dtype)
        return bits_of(rounded(q * step, dtype), dtype)  # |q| <= 2^24 (f64: 2^30): exact in T

    if what in (1, 4):
        require(at == len(chunk) and head == what, "a flat chunk")
        if quanta is not None:
            quanta += [base] * n
        return [value(base)] * n
    blocks, half = -(-n // 32), (-(-n // 32) + 1) // 2
    if packed:
        codes = [(chunk[at + (k if k < half else k - half)] >> (0 if k < half else 4) & 15) + lowest for k in range(blocks)]
    else:
        codes = list(chunk[at:at + blocks])
    at += pad4(half if packed else blocks)
    widest = 32 if what in (0, 6, 7) or (what == 2 and s == 4) else 64
    list_at = at + sum(4 * (c - 7) for c in codes if c > 7) if lists else 0
    end_of_lists = list_at + pad4(sum(c for c in codes if c <= 7))
    q, out, seen, rows = 0 if has_rows else base, [], 0, [base] * (row + plane if has_rows else 0)
    for k, code in enumerate(codes):
        a = b = 0
        if addend and code >= 128:
            a, b = number(chunk, at, "I"), number(chunk, at + 4, "I")
            at, code, seen = at + 8, code - 128, seen + 1
        if lists and code <= 7:
            d = [0] * 32
            for entry in chunk[list_at:list_at + code]:
                d[entry & 31] = signed(entry >> 5, 3)
            list_at += code
        else:
            width = code - 7 if lists else code
            require(width <= widest, "a code of SZp")
            d = differences_of_planes([number(chunk, at + 4 * w, "I") for w in range(width)])
            at += 4 * width
        for i in range(32):
            q = d[i] if alone else q + d[i]
            wild = (a >> i & 1) | (b >> i & 1) << 1
            if has_rows:
                rows.append(q + rows[-row] + (rows[-plane] - rows[-plane - row] if plane else 0))
            if quanta is not None:
                quanta.append(None if wild else rows[-1] if has_rows else q)
            out.append(bits_of([None, math.inf, -math.inf, math.nan][wild], dtype) if wild else value(rows[-1] if has_rows else q))
    require(seen == escaped and (end_of_lists if lists else at) == len(chunk), "blocks of SZp that fill the chunk")
    return out[:n]


class Bits:
    def __init__(self, data):
        self.value, self.length, self.at = int.from_bytes(data, "little"), 8 * len(data), 0

    def take(self, count):
        require(self.at + count <= self.length, "bits of SZe")
        field = self.value >> self.at & ((1 << count) - 1)
        self.at += count
        return field


def zigzag(v):
    return -(v + 1) // 2 if v & 1 else v // 2


def sze_table(bits):
    """For each number below 1024: its token, the share of the token, and where the range of the token begins."""
    count, levels = bits.take(8), []
    require(count <= 128, "tokens of a table")
    for t in range(count):
        if t == 0:
            levels.append(bits.take(5))
        else:
            ones = 0
            while bits.take(1):
                ones += 1
            levels.append(levels[-1] + zigzag(ones))
        require(0 <= levels[-1] <= 20, "a level")
    if not count:
        return [(0, 1, x) for x in range(1024)]
    weights = [lv if lv < 2 else 1 << lv // 2 if lv % 2 == 0 else 3 << (lv - 3) // 2 for lv in levels]
    require(sum(weights) > 0, "a table with a weight")
    shares = [max(1, 1024 * h // sum(weights)) if h else 0 for h in weights]
    if sum(shares) < 1024:
        shares[shares.index(max(shares))] += 1024 - sum(shares)
    while sum(shares) > 1024:
        shares[shares.index(max(shares))] -= 1
    slots = []
    for t, share in enumerate(shares):
        slots += [(t, share, len(slots))] * share
    return slots


def sze(chunk, n, dtype, bound):
    if chunk[0] & 15 != 15:
        return szp(chunk, n, dtype, bound, 0)
    flags, limits, words, specials, base = struct.unpack_from("<B3sHHi", chunk)
    fine, alone, count, at = flags >> 4 & 1, flags >> 5 & 1, flags >> 6, 12
    require(count <= 2 and n >= 1024 and not (fine and dtype == 1), "flags of SZe")
    step = szp_step(dtype, bound)
    if fine:
        step, at = number(chunk, 12, "f"), 16
    distances = struct.unpack_from("<%dH" % count, chunk, at)
    distances = [(word & 0x7fff, word >> 15) for word in distances]
    require(all(w > smooth for w, smooth in distances), "a distance")
    stream = struct.unpack_from("<%dH" % words, chunk, at + 2 * count)
    end = len(chunk) - 4 * specials
    bits = Bits(chunk[at + 2 * count + 2 * words:end - 32])
    states, tables = list(struct.unpack_from("<8I", chunk, end - 32)), [sze_table(bits) for _ in range(4)]
    tokens, activity, next_word = [], 0, 0
    above = distances[0][0] if distances and distances[0][0] >= 16 else None

    def sum_from(i):
        return sum(min(t, 31) for t in tokens[i:i + 8])

    for g in range(-(-n // 8)):
        if g:
            before = sum_from(8 * g - 8)
            activity = (before + (sum_from(8 * g - above) if above and above <= 8 * g else before)) // 2
        table = tables[sum(activity >= limit for limit in limits)]
        for lane in range(8):
            x = states[lane]
            token, share, first = table[x % 1024]
            x = share * (x // 1024) + x % 1024 - first
            if x < 1 << 16:
                x, next_word = x << 16 | stream[next_word], next_word + 1
            states[lane] = x
            tokens.append(token)
    require(next_word == words and states == [1 << 16] * 8, "a stream of SZe that ends where it should")
    r = []
    for token in tokens:
        low = 0 if token < 16 else (token - 16) // 4 + 2
        u = token if token < 16 else (4 + (token - 16) % 4 << low) + bits.take(low)
        r.append(zigzag(u))
    require(-(-bits.at // 8) * 8 == bits.length, "bits of SZe that fill their bytes")
    for k, (w, smooth) in reversed(list(enumerate(distances))):
        for i in range(w + smooth + (distances[0][0] if k else 0), n):
            r[i] += signed(r[i - w - 1] + 2 * r[i - w] + r[i - w + 1] + 2 & 0xffffffff, 32) >> 2 if smooth else r[i - w]
    q, values = base, []
    for i in range(n):
        q = r[i] if alone else q + r[i]
        values.append(bits_of(rounded(q * step, dtype), dtype))
    add_specials(chunk[end:], values, FLOATS[dtype][1])
    return values


def unpack_block(chunk, at, width, w, count):
    """Reads a block of Lossless. Returns its residuals, and the offset of its end."""
    if count < 64:
        size = -(-width // 8)
        return [int.from_bytes(chunk[at + size * i:at + size * i + size], "little") for i in range(count)], at + size * count
    residual, low = [0] * 64, 0
    for b in (64, 32, 16, 8, 4, 2, 1):
        if not width & b:
            continue
        m = 64 * b // w
        words = [int.from_bytes(chunk[at + w // 8 * j:at + w // 8 * (j + 1)], "little") for j in range(m)]
        for i in range(64):
            residual[i] |= (words[i % m] >> (i // m * b) & ((1 << b) - 1)) << low
        at, low = at + m * w // 8, low + b
    return residual, at


def lossless(chunk, n, s, most_fill=0):
    w, at, out, mask = 8 * s, 0, [], (1 << 8 * s) - 1  # a number of up to 8 bytes is one word, so there is one stream
    shift, is_alone = chunk[0] & 127, chunk[0] >> 7
    base, at = int.from_bytes(chunk[1:1 + s], "little"), 1 + s
    if shift == w:
        out = [base] * n
    before = base
    while len(out) < n:
        count, width = min(64, n - len(out)), chunk[at]
        require(width <= w - shift, "a width of Lossless")
        residual, at = unpack_block(chunk, at + 1, width, w, count)
        for r in residual:
            if is_alone:
                out.append(base ^ (r << shift))
                continue
            d = (r >> 1) ^ -(r & 1)  # undoes 2 d or -2 d - 1; the shift below brings back the dropped bits
            before = (before + (d << shift)) & mask
            out.append(before)
    require(at <= len(chunk) <= at + most_fill and not any(chunk[at:]), "streams that fill the chunk")
    return [v.to_bytes(s, "little") for v in out]


def limit_of(dtype, bound):
    """The largest number of the element type that is not above the bound."""
    largest = {0: (2 - 2.0 ** -23) * 2.0 ** 127, 1: sys.float_info.max}[dtype]
    limit = rounded(min(bound, largest), dtype)
    if limit <= bound:
        return limit
    return as_float((int.from_bytes(bits_of(limit, dtype), "little") - 1).to_bytes(FLOATS[dtype][1], "little"), dtype)


def lanes_of(n):
    lanes = 1 if n < 512 else 8
    return [n // lanes + (lane < n % lanes) for lane in range(lanes)]


def predictions(a, dtype):
    """The predictions of orders 0 to 3 from the last four values, the newest first. Each operation is rounded."""
    f = functools.partial(rounded, dtype=dtype)
    d1, e1, f1 = f(a[0] - a[1]), f(a[1] - a[2]), f(a[2] - a[3])
    d2, e2 = f(d1 - e1), f(e1 - f1)
    p1 = f(a[0] + d1)
    p2 = f(p1 + d2)
    return [a[0], p1, p2, f(p2 + f(d2 - e2))]


def bytezip(chunk, n, dtype):
    s, at, out, i = FLOATS[dtype][1], n, [], 0
    for length in lanes_of(n):
        history = [0.0] * 4
        for place in range(length):
            symbol, i = chunk[i], i + 1
            if symbol == 4:
                out.append(chunk[at:at + s])
                at += s
                value = as_float(out[-1], dtype)
                value = value if math.isfinite(value) else history[0]
            else:
                require(symbol < min(place, 4), "a symbol of ByteZip")
                value = predictions(history, dtype)[symbol]
                out.append(bits_of(value, dtype))
            history = [value] + history[:3]
    require(at == len(chunk), "values of ByteZip that fill the chunk")
    return out


def bitmask(chunk, n, dtype, bound, inner):
    s, head = FLOATS[dtype][1], chunk[-1]
    count, flags = 1 << (head & 7) - 1 if head else 0, head >> 4
    require(head == 0 or 1 <= head & 15 <= 4 and 1 <= flags <= 3, "the head of a chunk of BitMask")
    end = len(chunk) - 1 - s * count
    masks = [int.from_bytes(chunk[end + s * j:end + s * (j + 1)], "little") for j in range(count)]
    return bitzip(chunk[:end], n, dtype, bound, inner, masks, flags)


def bitzip(chunk, n, dtype, bound, codec, masks=(), flags=0):
    _, s, kind, mantissa = FLOATS[dtype]
    exponent_bits, lanes = 8 * s - 1 - mantissa, lanes_of(n)
    least = int.from_bytes(bits_of(limit_of(dtype, bound), dtype), "little") >> mantissa
    offset, k = as_float(chunk[-s:], dtype), number(chunk, len(chunk) - s - 2, "H")
    sizes = struct.unpack_from(f"<{len(lanes)}H", chunk, len(chunk) - s - 2 - 2 * len(lanes))
    end = len(chunk) - s - 2 - 2 * len(lanes) - k * (2 + s)
    require(end == sum(sizes) and math.isfinite(offset), "streams that fill the chunk")
    out, begin = [], 0
    for length, size in zip(lanes, sizes):
        bits, at = "".join(f"{b:08b}" for b in chunk[begin:begin + size]), 0
        history = [0.0] * 4
        for place in range(length):
            if codec != BIT_CUT and bits[at] == "1":
                order, at = int(bits[at + 1:at + 3], 2), at + 3
                require(order < min(place, 4) if codec == BIT_WISE else place >= 3, "an order of BitZip")
                value = predictions(history, dtype)[order]
            else:
                sign, at = int(bits[at]), at + 1
                mask = shared = None
                if masks and bits[at:at + flags] == "1" * flags:
                    at += flags
                    index_bits = (len(masks) - 1).bit_length()
                    mask = masks[int(bits[at:at + index_bits] or "0", 2)]
                    at += index_bits + 1
                    if bits[at - 1] == "1":
                        shared, at = (0, 2, 4, 8)[int(bits[at:at + 2], 2)], at + 2
                    exponent = mask >> mantissa
                else:
                    exponent, at = int(bits[at:at + exponent_bits], 2), at + exponent_bits
                b = min(max(exponent - least, 0), mantissa) if exponent else 0
                like = f"{mask & (1 << mantissa) - 1:0{mantissa}b}"[:b if shared is None else shared] if mask is not None else ""
                kept, at = like + bits[at:at + b - len(like)], at + b - len(like)
                require(len(kept) == b and exponent + 1 < 1 << exponent_bits and exponent + 1 > sign, "a cut value")
                field = int((kept + "1").ljust(mantissa, "0")[:mantissa], 2) if exponent else 0
                word = (sign << exponent_bits | exponent) << mantissa | field
                value = as_float(word.to_bytes(s, "little"), dtype)
            history = [value] + history[:3]
            out.append(bits_of(value if codec == BIT_CUT else rounded(value + offset, dtype), dtype))
        require(len(bits) - at < 8 and "1" not in bits[at:], "a stream that ends with its last byte")
        begin += size
    for i in range(k):
        out[number(chunk, end + 2 * i, "H")] = chunk[end + 2 * k + s * i:end + 2 * k + s * (i + 1)]
    return out


def zfp_planes(bits, at, left, planes, lowest):
    """Reads four coefficients. Returns them, and where their bits end. `left` is the number of bits that the block still has."""
    coefficients, known = [0] * 4, 0
    for k in range(planes - 1, lowest - 1, -1):
        i = 0
        while i < known and left > 0:
            coefficients[i] |= bits[at] << k
            i, at, left = i + 1, at + 1, left - 1
        while known < 4 and left > 0:
            more, at, left = bits[at], at + 1, left - 1
            if not more:
                break
            while known < 3 and left > 0:
                found, at, left = bits[at], at + 1, left - 1
                if found:
                    break
                known += 1
            coefficients[known] |= 1 << k
            known += 1
    return coefficients, at


def zfp(chunk, n, dtype, number_with_it, at_rate):
    _, s, _, mantissa = FLOATS[dtype]
    w, exponent_bits = 8 * s, 8 * s - 1 - mantissa
    bias, mask, alternating = (1 << exponent_bits - 1) - 1, (1 << w) - 1, int("10" * (w // 2), 2)
    k = number(chunk, len(chunk) - 2, "H")
    end = len(chunk) - 2 - k * (2 + s)
    block_bits = max(int(4 * number_with_it + 0.5), 1 + exponent_bits) if at_rate else 0
    least = -1074 if at_rate else math.frexp(number_with_it)[1] - 1
    bits, at, out = [b >> i & 1 for b in chunk[:end] for i in range(8)], 0, []
    for _ in range(0, n, 4):
        begin, e = at, -bias
        at += 1
        coefficients = [0] * 4
        if bits[begin]:
            at += exponent_bits
            e = sum(b << i for i, b in enumerate(bits[begin + 1:at])) - bias
            lowest = w - min(max(e - least + 4, 0), w)
            coefficients, at = zfp_planes(bits, at, block_bits - (at - begin) if at_rate else math.inf, w, lowest)
        if at_rate:
            at = begin + block_bits
        a, b, c, d = [(v ^ alternating) - alternating & mask for v in coefficients]
        b = b + (signed(d, w) >> 1) & mask
        d = d - (signed(b, w) >> 1) & mask
        b = b + d & mask
        d = 2 * d - b & mask
        c = c + a & mask
        a = 2 * a - c & mask
        b = b + c & mask
        c = 2 * c - b & mask
        d = d + a & mask
        a = 2 * a - d & mask
        out += [bits_of(rounded(math.ldexp(rounded(float(signed(v, w)), dtype), e + 2 - w), dtype), dtype) for v in (a, b, c, d)]
    require(len(bits) - at in range(8) and not any(bits[at:]), "a stream of ZFP that ends with its last byte")
    out = out[:n]
    for i in range(k):
        out[number(chunk, end + 2 * i, "H")] = chunk[end + 2 * k + s * i:end + 2 * k + s * (i + 1)]
    return out


def element_bytes(dtype):
    return FLOATS[dtype][1] if dtype < 4 else 1 << (dtype & 7) if dtype < 128 else dtype - 128


def decode(frame):
    """Decodes a frame. Returns the fields of its header, and its elements, each as bytes."""
    h, parts = frame_parts(frame)
    dtype, addend, s, out = h["dtype"], h["flags"] & 1, element_bytes(h["dtype"]), []
    for i, (chunk, raw) in enumerate(parts):
        n, bound = min(h["step"], h["n"] - i * h["step"]), h["bound"]
        require(len(chunk) == n * s if raw else addend or len(chunk) < n * s, "a chunk that is raw, or shorter")
        if raw:
            out += [chunk[s * j:s * j + s] for j in range(n)]
        elif h["codec"] == LOSSLESS:
            out += lossless(chunk, n, s)
        else:
            if dtype > 1 and h["quality"] == 2:
                chunk = chunk[:-1]
            elif dtype > 1 and not addend:
                k = number(chunk, len(chunk) - 1, "b")
                bound, chunk = bound / 2 if k == 127 else (bound - 2.0 ** k) * (1 - 2.0 ** -50), chunk[:-1]
            as_type = dtype if dtype < 2 else 0
            if h["codec"] == ZFP:
                values = zfp(chunk, n, as_type, bound, h["quality"] == 2)
            elif h["codec"] == SZE:
                values = sze(chunk, n, as_type, bound)
            elif h["codec"] == BYTE_ZIP:
                values = bytezip(chunk, n, as_type)
            elif h["codec"] == BIT_MASK:
                values = bitmask(chunk, n, as_type, bound, h["inner"])
            elif h["codec"] in (BIT_ZIP, BIT_WISE, BIT_CUT):
                values = bitzip(chunk, n, as_type, bound, h["codec"])
            else:
                values = szp(chunk, n, as_type, bound, addend) if h["codec"] == SZP else szx(chunk, n, as_type, bound)
            out += values if dtype < 2 else [two_bytes(v, dtype, not addend) for v in values]
    return h, out


def fnv(data):
    h = 0xCBF29CE484222325
    for b in data:
        h = (h ^ b) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def as_float(data, dtype):
    if dtype == 3:
        return struct.unpack("<f", b"\0\0" + data)[0]
    return struct.unpack(FLOATS[dtype][2], data)[0]


def is_within(decoded, original, dtype, within, movement):
    if dtype > 3 or within == 0:
        return decoded == original
    x, y = as_float(original, dtype), as_float(decoded, dtype)
    if math.isfinite(x) and math.isfinite(y):
        return abs(fractions.Fraction(y) - fractions.Fraction(x)) <= fractions.Fraction(within)
    return decoded == original if movement else math.isnan(x) and math.isnan(y) or x == y


def read_golden(path):
    frames = []
    for line in path.read_text().split("\n"):
        words = line.split()
        if words[:1] == ["frame"]:
            frames.append((words[1], dict(zip(words[2::2], words[3::2])), bytearray(), bytearray()))
        elif line.startswith("= "):
            frames[-1][3].extend(bytes.fromhex(line[2:]))
        elif line and not line.startswith("#"):
            frames[-1][2].extend(bytes.fromhex(line))
    return frames


def main(folder):
    trouble = count = 0
    for path in sorted(pathlib.Path(folder).glob("*.hex")):
        for name, facts, frame, original in read_golden(path):
            count += 1
            try:
                h, values = decode(bytes(frame))
                s, within = element_bytes(h["dtype"]), float.fromhex(facts["within"])
                require(h["n"] == int(facts["elements"]) == len(values) and len(frame) == int(facts["bytes"]), "the count")
                require(h["bound"] == float.fromhex(facts["bound"]), "the bound")
                outside = sum(not is_within(v, bytes(original[s * i:s * i + s]), h["dtype"], within, not h["flags"]) for i, v in enumerate(values))
                require(outside == 0 and len(original) == s * h["n"], f"values within the bound: {outside} are not")
                require(fnv(b"".join(values)) == int(facts["decoded"], 16), "the bits that the library decodes")
            except (Corrupt, struct.error, IndexError) as e:
                trouble += 1
                print(f"{path.name}, frame {name}: wrong in {e!r}")
    print(f"{count} frames, {trouble} wrong")
    return 1 if trouble or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
