#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A second encoder of SZp, written from "The encoder's choices" in docs/wire_format.md alone. Equal input must give equal bytes.

    szp_writer.py <folder of golden/*.hex>

Encodes the values of every SZp frame of f32 and f64 that has one chunk and is not a sum. Compares the chunk with the one in the file. The
name of a frame with rows ends with their length, or with that of rows and planes.
"""
import fractions
import math
import pathlib
import re
import struct
import sys

from reader import FLOATS, frame_parts, pad4, read_golden, rounded, szp_step


def bits_in(x, dtype):
    return int.from_bytes(struct.pack(FLOATS[dtype][2], x), "little")


def planes_of(d):
    """The bit planes of 32 differences: as few as can hold them in two's complement."""
    width = max((v if v >= 0 else ~v).bit_length() + 1 for v in d) if any(d) else 0
    return [sum((v >> k & 1) << i for i, v in enumerate(d)) for k in range(width)]


def pack(chunk_codes, packed, lowest):
    b = len(chunk_codes)
    if not packed:
        data = bytes(chunk_codes)
    else:
        half = (b + 1) // 2
        high = [c - lowest for c in chunk_codes[half:]] + [0]
        data = bytes((chunk_codes[i] - lowest) | high[i] << 4 for i in range(half))
    return data + bytes(pad4(len(data)) - len(data))


def words(values):
    return struct.pack(f"<{len(values)}I", *values)


def put_layer(raw, masks, one, s):
    """A layer of special values, as bytes. `masks` has a mask of them for each block. `one` is the value of all, or None if each is stored."""
    blocks, n = len(masks), len(raw)
    full = [(1 << min(32, n - 32 * k)) - 1 for k in range(blocks)]
    forms, runs = [], b""
    for mask, every in zip(masks, full):
        run = next((m for m in (mask, every & ~mask) if "1" * bin(m).count("1") in bin(m)), None)
        if mask in (0, every):
            forms.append(3 if mask else 0)
        elif run:
            forms.append(2)
            runs += struct.pack("<H", (run & -run).bit_length() - 1 | (run.bit_length() - 1) << 5 | (run != mask) << 10)
        else:
            forms.append(1)
    groups = [[k for k in range(blocks) if forms[k] == form] for form in (1, 2, 3)]
    sparse = bytes(sum(groups, []))
    dense = bytearray(-(-blocks // 4))
    for k in range(blocks):
        dense[k // 4] |= forms[k] << 2 * (k % 4)
    is_dense = pad4(len(dense)) < pad4(len(sparse))
    numbers = bytes(dense) if is_dense else sparse
    head = sum(len(g) << 9 * i for i, g in enumerate(groups)) | is_dense << 27 | (one is None) << 28
    values = one if one is not None else b"".join(raw[32 * k + i] for k in range(blocks) for i in range(32) if masks[k] >> i & 1)
    filled = [part + bytes(pad4(len(part)) - len(part)) for part in (numbers, runs)]
    return words([head]) + b"".join(filled) + words([masks[k] for k in groups[0]]) + values


def section(raw, special, s):
    """The section of special values. `raw` has the elements of the chunk as bytes, and `special` says which of them are special."""
    def masks_of(places):
        masks = [0] * -(-len(raw) // 32)
        for i in places:
            masks[i // 32] |= 1 << i % 32
        return masks

    left, others, out = [i for i, is_one in enumerate(special) if is_one], [], b""
    for _ in range(8):
        if not left:
            break
        one = raw[left[0]]
        equal = [i for i in left if raw[i] == one]
        left = [i for i in left if raw[i] != one]
        if len(equal) >= 4:
            out += put_layer(raw, masks_of(equal), one, s)
        else:
            others += equal
    if left + others:
        out += put_layer(raw, masks_of(left + others), None, s)
    return out


def lossless(raw, s):
    """The stream that Codec::Lossless makes of these elements."""
    w, x = 8 * s, [int.from_bytes(e, "little") for e in raw]
    base, mask = x[0], (1 << 8 * s) - 1
    changed = [v ^ base for v in x]
    any_bit = 0
    for v in changed:
        any_bit |= v
    shift = (any_bit & -any_bit).bit_length() - 1 if any_bit else w

    def chained(v, before):
        d = (v - before) & mask
        return (d << 1 ^ (mask if d >> (w - 1) else 0)) & mask

    def blocks(residual):
        out = b""
        for at in range(0, len(residual), 64):
            block = [r >> shift for r in residual[at:at + 64]]
            width = max(block).bit_length()
            out += bytes([width])
            if len(block) < 64:
                out += b"".join(r.to_bytes(s, "little")[:-(-width // 8)] for r in block)
                continue
            for b in (64, 32, 16, 8, 4, 2, 1):
                if width & b:
                    m = 64 * b // w
                    parts = [sum((block[i] & ((1 << b) - 1)) << i // m * b for i in range(j, 64, m)) for j in range(m)]
                    out += b"".join(part.to_bytes(s, "little") for part in parts)
                    block = [r >> b for r in block]
        return out

    front = base.to_bytes(s, "little")
    if not any_bit:
        return bytes([w | 0x80]) + front
    alone, other = blocks(changed), blocks([chained(v, before) for v, before in zip(x, [base] + x)])
    is_alone = len(alone) <= len(other)
    return bytes([shift | is_alone << 7]) + front + (alone if is_alone else other)


class Encoder:
    def __init__(self, elements, dtype, bound):
        _, self.s, self.kind, self.m = FLOATS[dtype]
        self.dtype, self.f32 = dtype, dtype == 0
        self.raw = elements  # as bytes, so that a NaN keeps its payload
        self.x = [struct.unpack(self.kind, e)[0] for e in elements]
        tiny = math.ldexp(1.0, -126 if self.f32 else -1022)
        self.x = [0.0 if abs(v) < tiny else v for v in self.x]  # denormals count as 0
        self.magnitude = [math.inf if math.isnan(v) else abs(v) for v in self.x]
        self.usable = min(bound, 2.0 ** (94 if self.f32 else 990)) >= 4 * tiny
        self.e = min(bound, 2.0 ** (94 if self.f32 else 990))
        self.step = szp_step(dtype, bound)
        self.safe, self.limit = self.p(14 if self.f32 else 30), self.p(30)
        self.digits, self.span = (24, 30) if self.f32 else (53, 61)
        self.b = -(-len(elements) // 32)

    def is_denormal(self, element):
        magnitude = int.from_bytes(element, "little") & ((1 << 8 * self.s - 1) - 1)
        return 0 < magnitude < 1 << self.m

    def p(self, k):
        return math.ldexp(self.step, k)

    def block(self, of, k):
        return [of[min(i, len(of) - 1)] for i in range(32 * k, 32 * k + 32)]

    # ---- quanta ----
    def narrow_quantum(self, x):
        i = 1 / self.step
        if abs(x) < self.safe:
            return round(rounded(x * rounded(i, self.dtype), self.dtype))
        return round(x * i)

    @staticmethod
    def precise_quantum(x, step):
        i = 1 / step
        q = round(x * i)
        rest = float(fractions.Fraction(x) - q * fractions.Fraction(step))
        return q + round(rest * i)

    # ---- the last steps, which all kinds of chunk have in common ----
    def finish(self, what, middle, blocks, lists_allowed, alone=False):
        """Makes a chunk. `blocks` has for each block: its code without the number of planes, its words A and B, and its differences."""
        codes, body, escaped = [], [], 0
        widths = []
        for code, front, d in blocks:
            planes = planes_of(d)
            widths.append(len(planes))
            codes.append(code + len(planes))
            escaped += code != 0
            body.append(front + words(planes))
        if what in (0, 3) and not any(codes):
            return words([1 if what == 0 else 4]) + middle
        head = what | escaped << 12 | alone << 30
        packed = max(codes) <= 64 and max(codes) - min(codes) <= 15
        if max(codes) - min(codes) >= 4:
            self.steep = codes.index(max(codes))
        if lists_allowed and max(codes) <= 8:
            with_lists = self.lists([d for _, _, d in blocks], widths, body)
            if with_lists:
                list_codes, rest = with_lists
                return words([head | 1 << 4 | 1 << 31]) + middle + pack(list_codes, True, 0) + rest
        lowest = min(codes) if packed else 0
        return words([head | packed << 4 | lowest << 5]) + middle + pack(codes, packed, lowest) + b"".join(body)

    def lists(self, differences, w, body):
        b, t = self.b, [sum(v != 0 for v in d) for d in differences]
        c, p = pad4((b + 1) // 2), 4 * sum(w)
        least = (c + p) // 4
        can = [1 <= w[k] <= 3 and t[k] < 4 * w[k] and t[k] <= 7 for k in range(b)]
        if p > 16 * b or 4 * sum(v for v in w if v <= 3) < 2 * least:
            return None
        if p > 512:
            seen = [k for q in range(4) for k in range(b * q // 4, min(b * q // 4 + 8, b * (q + 1) // 4))]
            if sum(4 * w[k] - t[k] for k in seen if can[k]) * b // len(seen) < 7 * least // 8:
                return None
        listed = sum(t[k] for k in range(b) if can[k])
        if 4 * sum(w[k] for k in range(b) if not can[k]) + pad4(listed) + least > p:
            return None
        codes = [t[k] if can[k] else w[k] + 7 if w[k] else 0 for k in range(b)]
        entries = bytes(i | (v & 7) << 5 for k in range(b) if can[k] for i, v in enumerate(differences[k]) if v)
        planes = b"".join(body[k] for k in range(b) if not can[k])
        return codes, planes + entries + bytes(pad4(len(entries)) - len(entries))

    def largest(self, of):
        most = max(of, default=0.0)
        return int(most * (1 / self.step)) + 2 if most else 0

    # ---- movement ----
    def movement(self, strides=()):
        if not self.usable:
            return None
        self.all_x, self.all_raw, self.limit_of_specials = self.x, self.raw, self.power(self.digits)
        markers, in_values = [], len(self.raw) * self.s
        row, plane = self.above(strides)
        if row:
            self.steep, self.special = None, []
            chunk = self.rows(row, plane)
            if chunk and len(chunk) < in_values and (self.steep is None or self.marker() is None):
                return chunk
        best = self.without([False] * len(self.x), common_alone=True)
        if best is None:
            best = self.on_some_grid()
        special = self.special
        while best and len(best) < in_values and self.steep is not None and len(markers) < 3:
            marker = self.marker()
            if marker is None:
                break
            markers.append(marker)
            shorter = self.without_from(markers)
            if not shorter or len(shorter) >= len(best):
                break
            best, special = shorter, self.special
        if row and len(best) < in_values and (any(special) or self.is_on_another_grid(best)):
            best = self.with_bridges_in_rows(row, plane, best, special)
        if len(best) < in_values and self.limit_of_specials == self.power(self.digits):
            if 4 * (struct.unpack_from("<I", best)[0] >> 12 & 0x3FFFF) <= in_values // 32:
                return best
        exact = self.kept()
        return exact if len(exact) < min(len(best), in_values) else best

    def is_on_another_grid(self, chunk):
        """Is the chunk fine, of f32, and not on the lattice that rule 3 takes?"""
        self.x, self.raw = list(self.all_x), list(self.all_raw)
        self.magnitude = [math.inf if math.isnan(v) else abs(v) for v in self.x]
        lattice = self.lattice() if any(self.x[:32]) else 0.0
        fine = self.f32 and struct.unpack_from("<I", chunk)[0] & 15 == 2
        return fine and struct.unpack_from("<f", chunk, 8)[0] != (lattice if lattice > self.step else None)

    def with_bridges_in_rows(self, row, plane, best, special):
        """A chunk, or the same with rows if that is shorter."""
        head, step = struct.unpack_from("<I", best)[0], self.step
        if head & 15 == 2 and self.f32:
            step = struct.unpack_from("<f", best, 8)[0]
        if head & 15 not in (0, 2) or (head & 15 == 2 and not self.f32):
            return best
        self.x, self.raw, self.special = list(self.all_x), list(self.all_raw), special
        self.bridge()
        chunk, behind = self.rows_on(row, plane, step, head & 15 == 2), best[len(best) - 4 * (head >> 12 & 0x3FFFF):]
        if not chunk or len(chunk) + len(behind) >= len(best):
            return best
        return words([struct.unpack_from("<I", chunk)[0] | len(behind) // 4 << 12]) + chunk[4:] + behind

    def on_some_grid(self):
        """The best chunk for values that the common grid cannot hold. Sets what later rules need to know about it."""
        best = self.without_from([])
        between = any(self.limit_of_specials <= abs(v) < self.power(self.span) for v in self.all_x)
        if sum(self.special) <= len(self.all_x) // 32 or not between:
            return best
        mine = self.x, self.raw, self.special, self.steep
        before, self.limit_of_specials = self.limit_of_specials, self.power(self.span)
        shorter = self.without_from([])
        if len(shorter) < len(best):
            return shorter
        self.x, self.raw, self.special, self.steep = mine
        self.limit_of_specials = before
        return best

    def without_from(self, markers):
        for limit in (self.limit_of_specials, self.safe):
            special = [not abs(v) < limit or r in markers for v, r in zip(self.all_x, self.all_raw)]
            chunk = self.without(special)
            if chunk is not None:
                return chunk

    def kept(self):
        chunk = words([5]) + lossless(self.all_raw, self.s)
        return chunk + bytes(pad4(len(chunk)) - len(chunk))

    def without(self, special, common_alone=False):
        """The chunk without its special values, followed by their section. None if no grid can hold the other values."""
        self.steep, self.special = None, special
        self.x = [0.0 if is_one else v for v, is_one in zip(self.all_x, special)]
        self.raw = [bytes(self.s) if is_one else r for r, is_one in zip(self.all_raw, special)]
        chunk = self.ordinary(common_alone)
        if chunk is None or not any(special):
            return chunk
        behind = section(self.all_raw, special, self.s)
        return words([struct.unpack_from("<I", chunk)[0] | len(behind) // 4 << 12]) + chunk[4:] + behind

    def bridge(self):
        """Special values repeat the value before them, and in the block of the value behind them they rise or fall to that."""
        n, end = len(self.x), 0
        while True in self.special[end:]:
            first = self.special.index(True, end)
            end = self.special.index(False, first) if False in self.special[first:] else n
            behind = (self.x[end], self.raw[end]) if end < n else None
            before = (self.x[first - 1], self.raw[first - 1]) if first else behind or (0.0, bytes(self.s))
            start = max(first, end // 32 * 32) if behind else end
            for i in range(first, end):
                self.x[i], self.raw[i] = before
                if i >= start:
                    part = (i - start + 1) / (end - start + 1)
                    v = before[0] * (1 - part) + behind[0] * part
                    v = rounded(min(max(v, min(before[0], behind[0])), max(before[0], behind[0])), self.dtype)
                    self.x[i], self.raw[i] = v, struct.pack(self.kind, v)
        self.magnitude = [abs(v) for v in self.x]

    def marker(self):
        """A value that occurs at least twice near the steepest jump, where no other value is on its side of the jump."""
        begin, n = 32 * self.steep, len(self.x)
        end = min(n, begin + 32)
        jumps = [(abs(self.x[i] - self.x[i - 1]), -i) for i in range(max(begin, 1), end)]
        if not jumps:
            return None
        at = -max(jumps)[1]
        near = {at - 1: [], at: []}
        for i in range(max(0, begin - 32), min(n, end + 32)):
            if self.special and self.special[i]:
                continue
            nearer = at - 1 if abs(self.x[i] - self.x[at - 1]) < abs(self.x[i] - self.x[at]) else at
            near[nearer].append(self.raw[i])
        sides = [(len(raw), side, self.raw[side]) for side, raw in near.items() if len(raw) > 1 and set(raw) == {self.raw[side]}]
        return max(sides)[2] if sides else None

    def ordinary(self, common_alone):
        """A chunk of all values, or None if no grid can hold them."""
        self.magnitude = [math.inf if math.isnan(v) else abs(v) for v in self.x]
        lattice = self.lattice()
        if self.f32 and lattice > self.step and any(self.x[:32]):
            self.bridge()
            return self.fine(lattice)
        if max(self.magnitude) < self.safe:
            return self.narrow()
        if common_alone:
            return None
        self.bridge()
        grid = self.fine_grid()
        if lattice > max(grid, self.power(0)):
            return self.fine(lattice)
        return self.fine(grid) if grid else None

    def lattice(self):
        if not any(self.x) or math.inf in self.magnitude or any(self.is_denormal(r) for r in self.raw):
            return 0.0
        least, top = 1 << 20, 0
        for v in self.x:
            if v:
                bits = bits_in(abs(v), self.dtype)
                exponent, mantissa = bits >> self.m, bits & ((1 << self.m) - 1)
                zeros = (mantissa & -mantissa).bit_length() - 1 if mantissa else self.m
                least, top = min(least, exponent - self.m + zeros), max(top, exponent)
        if least < 1 or top - least >= self.span:
            return 0.0
        return math.ldexp(1.0, min(least, 253) - 127) if self.f32 else math.ldexp(1.0, min(least, 2045) - 1023)

    def power(self, k):
        """P 2^k, where P is the largest power of two that is not above 2 e; infinity if that is too large."""
        exponent = math.frexp(2 * self.e)[1] - 1 + k
        return math.ldexp(1.0, exponent) if exponent < (128 if self.f32 else 1024) else math.inf

    def fine_grid(self):
        most = (2 - 2.0 ** -23) * 2.0 ** 127 if self.f32 else sys.float_info.max
        m = max(self.magnitude)
        r = m + 2 * self.e
        if m < self.safe or not r < most / 2:
            return 0.0
        ulp = math.ldexp(1.0, math.frexp(r)[1] - self.digits)
        return max(math.floor(2 * self.e * (1 - 2.0 ** -20) / ulp) * ulp, self.power(0))

    def blocks_of(self, quantum, before, alone=False):
        blocks = []
        for k in range(self.b):
            d = []
            for v in self.block(self.x, k):
                q = quantum(v)
                d.append(q if alone else q - before)
                before = q
            blocks.append((0, b"", d))
        return blocks

    def narrow(self):
        alone = self.is_noise()
        if not alone:
            self.bridge()
        base = 0 if alone else self.narrow_quantum(self.x[0])
        blocks = self.blocks_of(self.narrow_quantum, base, alone)
        return self.finish(0, struct.pack("<iI", base, self.largest(self.magnitude)), blocks, True, alone)

    def fine(self, step):
        if self.f32:
            quantum, shape = (lambda v: round(v * (1 / step))), "<if"
        else:
            quantum, shape = (lambda v: self.precise_quantum(v, step)), "<qd"
        base = quantum(self.x[0])
        return self.finish(2, struct.pack(shape, base, step), self.blocks_of(quantum, base), True)

    def above(self, strides):
        """The distances of rows and planes, each 0 if there are none."""
        row = next((w for w in strides if w >= 16), 0)
        plane = next((w for w in strides if w > row and w >= 32), 0)
        if not row or row >= len(self.x):
            return 0, 0
        return row, plane if row + plane < len(self.x) else 0

    def rows(self, row, plane, addend=False):
        """A chunk with rows and planes of these lengths, or None if the chunk should have none."""
        lattice = self.lattice() if self.f32 and any(self.x[:32]) and not addend else 0.0
        return self.rows_on(row, plane, max(lattice, self.step), lattice > self.step, addend)

    def rows_on(self, row, plane, step, own, addend=False, classes=()):
        """The same on a grid that is the chunk's own, or on the common one.

        classes: the words A and B of each block, of an addend with values that are not finite. These repeat the value before them."""
        most = max(abs(v) if math.isfinite(v) else math.inf for v in self.x)
        if not most < math.ldexp(step, 27 if not self.f32 else 21 if own or addend else 14):
            return None
        inverse = rounded(1 / step, self.dtype)
        q = [round(rounded(v * inverse, self.dtype)) for v in self.x]
        in_rows = [v - w for v, w in zip(q, [q[0]] * row + q)]
        in_planes = [v - w for v, w in zip(in_rows, [0] * plane + in_rows)]
        first, whole = (row + plane) // 32 + 1, len(q) // 32
        if first >= whole and plane:
            plane, first = 0, row // 32 + 1
        if first >= whole:
            return None
        samples = [32 * (first + (whole - first) * (2 * j + 1) // 16) + i for j in range(8) for i in range(32)]
        d1, d2, d3 = (sum(abs(of[i] - of[i - 1]) for i in samples) for of in (q, in_rows, in_planes))
        rows_pay = 8 * d2 + 32 < 7 * d1
        if not plane or not (8 * d3 + 32 < 7 * d2 if rows_pay else 8 * d3 + 32 < 7 * d1 and 2 * plane <= len(q) and 64.0 * d3 * d2 < 49.0 * d1 * d1):
            plane = 0
            if not rows_pay:
                return None
        if own and math.frexp(step)[0] != 0.5:
            q = [round(v * (1 / step)) for v in self.x]
        elif addend:
            q = [self.narrow_quantum(v) for v in self.x]
        in_rows = [v - w for v, w in zip(q, [q[0]] * row + q)]
        r = [v - w for v, w in zip(in_rows, [0] * plane + in_rows)] if plane else in_rows
        d = [v - w for v, w in zip(r, [0] + r)]
        d += [0] * (-len(d) % 32)
        if not any(d):
            return None
        largest = int(most * (1 / step)) + 2 if most else 0
        middle = struct.pack("<iIHH", q[0], largest, row, plane) + (struct.pack("<f", step) if own else b"")
        front = [(128, words(ab)) if any(ab) else (0, b"") for ab in classes] or [(0, b"")] * self.b
        return self.finish(7 if own else 6, middle, [(*front[k], d[32 * k:32 * k + 32]) for k in range(self.b)], not addend)

    def is_noise(self):
        count = min(len(self.x) // 32, 256 // self.s)
        if count == 0:
            return False
        samples = [count * (2 * (5 * j % 8) + 1) // 16 for j in range(8)]
        for size in (1, 4, 8):
            a = d = 0
            for k in samples[:size]:
                if max(self.block(self.magnitude, k)) >= self.p(13):
                    return False
                q = [self.narrow_quantum(v) for v in self.block(self.x, k)]
                a += sum(map(abs, q))
                d += sum(abs(y - x) for x, y in zip([0] + q, q))
            if (size == 1 and a + d >= 64 and d <= a) or (size == 4 and (a + d == 0 or a + d >= 64)) or size == 8:
                return 8 * d > 9 * a

    # ---- addends ----
    def addend(self, strides):
        far = [math.isfinite(v) and math.ldexp(abs(v), -52) >= self.step for v in self.x]  # 2^52 step may be more than the largest f64
        if not any(far):
            return self.addend_of_numbers(strides)
        fills = sorted({r for is_far, r in zip(far, self.raw) if is_far}, key=lambda raw: int.from_bytes(raw, "little"))
        if len(fills) > 4:
            return None
        behind = b""
        for fill in fills:
            masks = [0] * self.b
            for i, (is_far, r) in enumerate(zip(far, self.raw)):
                masks[i // 32] |= (is_far and r == fill) << i % 32
            layer = put_layer(self.raw, masks, struct.pack("<hh", 1, 0), 2)
            another = (fill != fills[-1]) << 30
            behind += fill + words([struct.unpack_from("<I", layer)[0] | another]) + layer[4:]
        values, wild = list(self.x), [not math.isfinite(v) for v in self.x]
        self.special = [a or b for a, b in zip(far, wild)]
        self.x = [0.0 if is_one else v for v, is_one in zip(self.x, self.special)]
        self.bridge()
        self.x = [v if is_wild else x for v, x, is_wild in zip(values, self.x, wild)]
        chunk = self.addend_of_numbers(strides)
        return words([struct.unpack_from("<I", chunk)[0] | 1 << 30]) + chunk[4:] + behind + words([len(behind) // 4])

    def addend_of_numbers(self, strides):
        row, plane = self.above(strides)
        chunk = self.rows(row, plane, True) or self.rows_beside_classes(row, plane) if row else None
        if chunk is not None:
            return chunk
        finite = [v for v in self.x if math.isfinite(v)]
        largest_narrow, exact = 0, 0
        calm = []
        for k in range(self.b):
            of = self.block(self.x, k)
            if all(abs(v) < self.limit for v in of):
                calm.append(max(map(abs, of)))
            else:
                exact = max([exact] + [abs(self.addend_quantum(v)) for v in of if abs(v) < self.limit])
        largest_narrow = max(self.largest(calm), exact)
        narrow = all(abs(v) < self.limit for v in finite) and largest_narrow < 1 << 30
        x0 = self.x[0]
        base = self.addend_quantum(x0) if math.isfinite(x0) and (not narrow or abs(x0) < self.limit) else 0
        blocks, before, largest = [], base, 0
        for k in range(self.b):
            d = []
            for v in self.block(self.x, k):
                q = before
                if math.isfinite(v):
                    q = self.addend_quantum(v)
                    largest = max(largest, abs(q))
                d.append(q - before)
                before = q
            ab = self.classes(k)
            blocks.append((128, words(ab), d) if any(ab) else (0, b"", d))
        middle = struct.pack("<iI", base, largest_narrow) if narrow else struct.pack("<qQ", base, max(largest, 1 << 30))
        return self.finish(0 if narrow else 3, middle, blocks, False)

    def classes(self, k):
        """Words A and B of a block."""
        of = [v if not math.isfinite(v) else None for v in self.block(self.x, k)]
        a = sum((v is not None and not v < 0) << i for i, v in enumerate(of))
        b = sum((v is not None and not v > 0) << i for i, v in enumerate(of))
        return [a, b]

    def rows_beside_classes(self, row, plane):
        """A chunk with rows that has values which are not finite, or None."""
        if all(map(math.isfinite, self.x)):
            return None
        classes, values, last, held = [self.classes(k) for k in range(self.b)], self.x, 0.0, []
        for v in values:
            last = v if math.isfinite(v) else last
            held.append(last)
        self.x = held
        chunk = self.rows_on(row, plane, self.step, False, True, classes)
        self.x = values
        return chunk

    def addend_quantum(self, x):
        return self.narrow_quantum(x) if abs(x) < self.limit else self.precise_quantum(x, self.step)


def main(folder):
    trouble = count = 0
    for path in sorted(pathlib.Path(folder).glob("szp*_f??.hex")):
        for name, _, frame, original in read_golden(path):
            h, parts = frame_parts(bytes(frame))
            if name.endswith("sum") or len(parts) != 1:
                continue
            count += 1
            s = FLOATS[h["dtype"]][1]
            encoder = Encoder([bytes(original[i:i + s]) for i in range(0, len(original), s)], h["dtype"], h["bound"])
            strides = re.search(r"rows_of_(\d+)(?:_and_planes_of_(\d+))?$", name)
            strides = [int(w) for w in strides.groups() if w] if strides else []
            chunk = encoder.addend(strides) if h["flags"] else encoder.movement(strides)
            raw = chunk is None or (not h["flags"] and len(chunk) >= len(original))
            if (bytes(original) if raw else chunk) != parts[0][0] or raw != parts[0][1]:
                trouble += 1
                print(f"{path.name}, frame {name}: other bytes")
    print(f"{count} chunks, {trouble} others")
    return 1 if trouble or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
