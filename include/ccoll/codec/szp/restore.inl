// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/restore.inl - floor 2. From planes to values, for the sets that have no better way. Up to 8 planes are bytes, whose running sum
// takes fewer instructions.

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
