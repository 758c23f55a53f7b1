// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/registers.inl - floor 2. Primitives of szp/loops.inl that follow from others where quanta are registers.

CCOLL_INLINE void subtract(const i32* from, quanta& q) noexcept
{
    quanta other;
    load(from, other);
    subtract(other, q);
}
CCOLL_INLINE void add_to(const i32* from, quanta& q) noexcept
{
    quanta other;
    load(from, other);
    add_to(other, q);
}
CCOLL_INLINE void difference(const i32* from, quanta& q) noexcept
{
    load(from, q);
    subtract(from - 1, q);
}
