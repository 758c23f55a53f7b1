// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx/streams.inl - floor 2. Blocks of SZx past the caches, for the sets that have a line writer, which
// they call `lines`.

/// Decodes whole blocks past the caches, as long as a register may be read behind them. @return how many
template <element T>
CCOLL_TARGET std::size_t stream_blocks(const std::byte* codes, std::size_t blocks, const_byte_span rest,
                                       T step, T* x) noexcept
{
    if (blocks == 0 || rest.size() < block_room<T>) return 0;
    decode_block<T>(static_cast<unsigned>(codes[0]), rest.data(), step, x);
    lines to(x + block_elements);
    std::size_t b = 1;
    for (;; ++b) {
        rest = rest.subspan(block_bytes<T>(static_cast<unsigned>(codes[b - 1]), block_elements));
        if (b == blocks || rest.size() < block_room<T>) break;
        decode_block<T, lines&>(static_cast<unsigned>(codes[b]), rest.data(), step, to);
    }
    to.finish();
    return b;
}
