// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/hold.inl - floor 2. Quanta that repeat the one before them, for the sets that have no better way: one by one. Uses
//   store(q, i32[32]), load(i32[32], q)

CCOLL_INLINE u32 hold(quanta& q, u32 missing, running r) noexcept
{
    i32 values[block_elements], last = last_of(r);
    store(q, values);
    u32 largest = 0;
    for (unsigned i = 0; i < block_elements; ++i) {
        last = (missing >> i & 1) != 0 ? last : values[i];
        values[i] = last;
        largest = std::max(largest, static_cast<u32>(last < 0 ? -last : last));
    }
    load(values, q);
    return largest;
}
