# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Chunks of SZp and sections of exceptional values, read as docs/wire_format.md says: the part of reader.py for these."""
import fractions
import math
import struct

# dtype: name, bytes of an element, bits of the mantissa field, smallest and largest exponent of normal numbers
FLOATS = {0: ("f32", 4, 23, -126, 127), 1: ("f64", 8, 52, -1022, 1023)}
STEPS = {0: (94, -8, 10), 1: (990, -20, 22)}  # exponents of the largest bound and of the margin, both of 2; significant bits of the step
STATES = ["NaN", "+Inf", "-Inf", "missing"]


class Corrupt(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Corrupt(what)


def up_to(multiple, n):
    return -(-n // multiple) * multiple


def number(data, at, kind):
    return struct.unpack_from("<" + kind, data, at)[0]


def signed(value, width):
    value &= (1 << width) - 1
    return value - (1 << width) if width and value >> (width - 1) else value


def nearest(exact, dtype):
    """A fraction, rounded to the nearest number of T, ties to even, as bytes."""
    _, s, mantissa, least, most = FLOATS[dtype]
    sign, x = (1 if exact < 0 else 0), abs(fractions.Fraction(exact))
    exponent = least
    if x:
        exponent = max(x.numerator.bit_length() - x.denominator.bit_length() - 1, least)
        while x >= fractions.Fraction(2) ** (exponent + 1):
            exponent += 1
    count = round(x / fractions.Fraction(2) ** (exponent - mantissa))  # Python rounds ties to even
    infinity = (most - least + 2) << mantissa
    bits = min(count + ((exponent - least) << mantissa), infinity)  # a mantissa that overflows raises the exponent
    return (bits | sign << (8 * s - 1)).to_bytes(s, "little")


def special_bits(name, dtype, missing):
    _, s, mantissa, least, most = FLOATS[dtype]
    infinity, sign = (most - least + 2) << mantissa, 1 << (8 * s - 1)
    bits = {"+Inf": infinity, "-Inf": infinity | sign, "NaN": infinity | 1 << (mantissa - 1), "missing": missing}[name]
    return bits.to_bytes(s, "little")


# ---- exceptional values ----

def section(data, at, n, value_bytes):
    """Reads a section. Returns its places in ascending order, the value of each (bytes, or a wide integer), its form, and its end."""
    begin, blocks = at, -(-n // 32)
    entries, form, runs = struct.unpack_from("<BBH", data, at)
    require(form < 4, "the form of a section")
    at += 4
    words = (blocks + 31) // 32
    masked, whole = (int.from_bytes(data[at + 4 * words * j:at + 4 * words * (j + 1)], "little") for j in (0, 1))
    require((masked | whole) >> blocks == 0 and masked & whole == 0, "sets of blocks")
    at += 8 * words
    places = []
    for k in range(blocks):
        length = min(32, n - 32 * k)
        mask = (1 << length) - 1 if whole >> k & 1 else 0
        if masked >> k & 1:
            mask, at = number(data, at, "I"), at + 4
            require(mask != 0 and mask >> length == 0, "a mask")
        places += [32 * k + i for i in range(length) if mask >> i & 1]
    require(places, "a section with places")
    which = []
    for _ in range(runs):
        which += [data[at]] * (data[at + 1] + 1)
        at += 2
    at = begin + up_to(8, at - begin)
    end = begin + up_to(16, at + value_bytes * (entries + 1) - begin)
    require(len(data) >= end, "the values of a section")
    if not runs:
        which = [0] * len(places)
    require(len(which) == len(places) and max(which) <= entries, "value runs")
    values = [data[at + value_bytes * e:at + value_bytes * (e + 1)] for e in range(entries + 1)]
    if value_bytes == 24:
        values = [wide_integer(v) for v in values]
    return places, [values[e] for e in which], form, end


def put_exceptions(data, at, values, s):
    """Movement: puts the exceptional values in their places."""
    places, exceptional, form, _ = section(data, at, len(values), s)
    require(form == 0, "one section of a chunk for movement")
    for i, v in zip(places, exceptional):
        values[i] = v


def wide_integer(data):
    """An integer, or the name of a state."""
    low, middle, high = struct.unpack("<QQQ", data)
    if high == 1 << 63:
        require(middle == 0 and low < 4, "a state")
        return STATES[low]
    w = signed(low | middle << 64 | high << 128, 192)
    require(abs(w) < 1 << 190, "a wide integer")
    return w


def exceptions_of_addend(data, at, n):
    """Returns a pair for each exceptional place: the wide integer or state, and whether the quantum counts."""
    found, seen, more = {}, set(), True
    while more:
        places, values, form, at = section(data, at, n, 24)
        counts, more = form & 1, form >> 1 & 1
        require(counts not in seen and not found.keys() & set(places), "one section of a kind, and no place twice")
        seen.add(counts)
        found.update((i, (v, counts)) for i, v in zip(places, values))
    return found


def put_sums(exceptions, quanta, values, step, divisor, dtype, missing):
    """Puts the values of an addend in the places that are exceptional. They are rounded once."""
    for i, (w, counts) in exceptions.items():
        if isinstance(w, str):
            values[i] = special_bits(w, dtype, missing)
        else:
            values[i] = nearest((w + (quanta[i] if counts else 0)) * fractions.Fraction(step) / divisor, dtype)


# ---- chunks ----

def szp_step(dtype, bound):
    most, margin, significant = STEPS[dtype]
    exact = 2 * min(bound, 2.0 ** most) / (1 + 1.001 * 2.0 ** margin)
    bits = struct.unpack("<Q", struct.pack("<d", exact))[0] >> (53 - significant) << (53 - significant)
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def value_of_bit(bit):
    """Which value of a block has this bit of a plane."""
    return 8 * (bit & 3) + 4 * (bit >> 2 & 1) + (bit >> 3)


def differences(chunk, n, wide, groups, addend):
    """Those of all groups, and the base of each."""
    widest, all_of, bases = (64 if wide else 32), [], []
    at_places = 16 + 16 * groups
    for g in range(groups):
        blocks, place = -(-min(1024, n - 1024 * g) // 32), at_places + 8 * g
        at, lowest, form, base = struct.unpack_from("<HBBi", chunk, place)
        bases.append(number(chunk, 16 + 24 * groups + 8 * g, "q") if wide else base)
        require(form < 2 and not (form and (wide or addend or lowest)), "the place of a group")
        codes = [chunk[16 + 16 * g + b // 2] >> 4 * (b % 2) & 15 for b in range(32)]
        at *= 16
        width = [max(c - 7, 0) if form else c + lowest for c in codes[:blocks]]
        require(max(width) <= widest, "the width of a block")
        list_at = at + 4 * sum(width)
        has_any = sum(width) or form and any(codes[:blocks])
        require(not has_any or list_at + (sum(c for c in codes[:blocks] if c <= 7) if form else 0) <= len(chunk), "planes and lists within the chunk")
        for b in range(blocks):
            d = [0] * 32
            if form and codes[b] <= 7:
                joined = [0] * 32
                for entry in chunk[list_at:list_at + codes[b]]:
                    joined[value_of_bit(entry & 31)] |= entry >> 5
                list_at += codes[b]
                d = [signed(v, 3) for v in joined]
            else:
                for bit in range(32):
                    v = sum((number(chunk, at + 4 * k, "I") >> bit & 1) << k for k in range(width[b]))
                    d[value_of_bit(bit)] = signed(v, width[b])
                at += 4 * width[b]
            all_of += d
        all_of = all_of[:1024 * (g + 1)]
    return all_of[:n], bases


def chunk_quanta(chunk, n, addend):
    """The quanta of a chunk, and the fields of its head."""
    require(len(chunk) >= 16, "a head")
    scale, form, row, plane, exceptions, largest = struct.unpack_from("<BBHHHQ", chunk)
    require(scale < 2 and form < 8, "scale or form")
    left, wide, flat = form & 1, form >> 1 & 1, form >> 2
    require((row >= 16 and (plane == 0 or plane >= 16) and row + plane < n) or row == plane == 0, "distances")
    require(16 * exceptions < len(chunk), "exceptions in the chunk")
    groups = -(-n // 1024)
    require(len(chunk) >= (24 if flat else up_to(16, 16 + (32 if wide else 24) * groups)), "the front of a chunk")
    if flat:  # whatever the base is: it is not taken modulo 2^32
        return [number(chunk, 16, "q")] * n, scale, 16 * exceptions, largest
    d, bases = differences(chunk, n, wide, groups, addend)
    r, before = [], 0 if row else bases[0]
    for i in range(n):
        if i % 1024 == 0 and i > 0:
            before = bases[i // 1024]
        r.append(d[i] + before if left else d[i])
        before = r[i]
    if plane:
        for i in range(plane, n):
            r[i] += r[i - plane]
    if row:
        for i in range(n):
            r[i] += r[i - row] if i >= row else bases[0]
    return [signed(q, 64 if wide else 32) for q in r], scale, 16 * exceptions, largest


def most_addend_bytes(n):
    """The longest chunk of an addend."""
    groups, blocks = -(-n // 1024), -(-n // 32)
    return 176 + 48 * groups + 256 * blocks + 2 * up_to(16, 12 + 8 * groups + 4 * blocks) + up_to(16, 2 * n) + 24 * min(n, 512)


def as_number(data, dtype):
    return struct.unpack("<f" if dtype == 0 else "<d", data)[0]


def decode_chunk(chunk, n, dtype, bound, addend=False, divisor=1, missing=0):
    _, s, mantissa, least, most = FLOATS[dtype]
    require(bound >= 2.0 ** (least + 2), "a bound with a step")
    require(not addend or len(chunk) <= most_addend_bytes(n), "the length of an addend")
    quanta, scale, exceptions, largest = chunk_quanta(chunk, n, addend)
    require(not addend or scale == 0, "the step of an addend")
    step = szp_step(dtype, bound)
    if scale == 1:
        step = struct.unpack("<d", struct.pack("<Q", largest))[0]
        require(math.isfinite(step) and step >= 2.0 ** least, "a step that is a normal number")
        require(as_number(nearest(fractions.Fraction(step), dtype), dtype) == step, "a step that is a number of T")
    values = []
    for q in quanta:
        if scale == 1:  # q is rounded to T, and so is the product
            q = int(as_number(nearest(fractions.Fraction(q), dtype), dtype))
            values.append(nearest(fractions.Fraction(q) * fractions.Fraction(step), dtype))
            continue
        product = float(q) * step
        values.append(special_bits("-Inf" if q < 0 else "+Inf", dtype, 0) if math.isinf(product) else nearest(fractions.Fraction(product), dtype))
    if exceptions and addend:
        # Whoever has declared no missing value gets NaN for it.
        nan = int.from_bytes(special_bits("NaN", dtype, 0), "little")
        put_sums(exceptions_of_addend(chunk, exceptions, n), quanta, values, step, divisor, dtype, missing or nan)
    elif exceptions:
        put_exceptions(chunk, exceptions, values, s)
    return values
