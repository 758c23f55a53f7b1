// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/restore.inl - floor 2. The primitive of szp/loops.inl that restores values, where quanta are registers.

template <class T, class To>
CCOLL_INLINE void restore(const u8* in, unsigned width, running& r, T step, To& to) noexcept
{
    quanta q;
    restore(in, width, r, q);
    dequantise(q, step, to);
}
