// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/restore.inl - floor 2. Planes to values with the instruction sets that have no kernel of their own for it: 8 planes are bytes, whose
// running sum is shorter.

template <class T, class To>
CCOLL_INLINE void restore(const u8* in, unsigned width, running& r, T step, To& x) noexcept
{
    quanta q;
    if (width == 0) {
        repeat(r, q);
    } else if (width <= 8) {
        scan_bytes(get_8_planes(in, width), q, r);
    } else {
        get_planes(in, width, q);
        scan(q, r);
    }
    dequantise(q, step, x);
}
