// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/exceptions/registers.inl - floor 2. Primitives on exceptional values that follow from others where a block is registers: load,
// store, all, blended(v, mask, with, word), and a line with values_of(number, word), which are those of a register.

template <element T>
CCOLL_INLINE void put_all(T* x, typename rule<T>::word bits) noexcept
{
    for (unsigned i = 0; i < block_elements; i += register_bytes / sizeof(T)) store(x + i, all(bits));
}
template <element T>
CCOLL_INLINE void ramp(T* block, u32 mask, int before, std::size_t count, T a, T b) noexcept
{
    using word = typename rule<T>::word;
    constexpr unsigned lanes_of_T = register_bytes / sizeof(T);
    const line values(static_cast<double>(a), static_cast<double>(b), static_cast<int>(count + 1));
    for (unsigned i = static_cast<unsigned>(std::countr_zero(mask)) / lanes_of_T * lanes_of_T; i < block_elements && mask >> i != 0;
         i += lanes_of_T)
        store(block + i, blended(load(block + i), mask >> i, values.values_of(static_cast<int>(i) - before, word{}), word{}));
}
template <element T>
CCOLL_INLINE void copy_block(const T* x, T* to) noexcept
{
    for (unsigned i = 0; i < block_elements; i += register_bytes / sizeof(T)) store(to + i, load(x + i));
}
template <element T>
CCOLL_INLINE void copy_with(const T* x, u32 mask, T value, T* to) noexcept
{
    using word = typename rule<T>::word;
    const auto with = all(std::bit_cast<word>(value));
    for (unsigned i = 0; i < block_elements; i += register_bytes / sizeof(T)) store(to + i, blended(load(x + i), mask >> i, with, word{}));
}
