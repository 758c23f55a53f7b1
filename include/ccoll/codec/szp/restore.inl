// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/restore.inl - floor 2. The primitives of szp/loops.inl that restore quanta and values, where quanta are registers. The
// namespace that includes this file has scan_8_planes(in, width, q, r), which is restore() for widths 1..8, and scan(q, r): the running
// sums of differences.

CCOLL_INLINE void restore(const u8* in, unsigned width, running& r, quanta& q) noexcept
{
    if (width == 0) {
        CCOLL_UNROLLED for (auto& v : q.v) v = r;
    } else if (width <= 8) {
        scan_8_planes(in, width, q, r);
    } else {
        get_planes(in, width, q);
        scan(q, r);
    }
}
template <class T, class To>
CCOLL_INLINE void restore(const u8* in, unsigned width, running& r, T step, To& to) noexcept
{
    quanta q;
    restore(in, width, r, q);
    dequantise(q, step, to);
}
