// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx_kernel.inl - floor 2. A block of SZx register by register: the text of szx_x86.hpp, which includes it once per
// instruction set, with CCOLL_TARGET and the operations on one register (load, fill, ...) in scope. Says what szx_block.hpp says,
// gives the same bytes, and rests on the proofs there.

/// As szx::plan_block. NaN are looked for, since a minimum overlooks them; an infinity needs no search, for nothing passes then.
template <element T>
CCOLL_TARGET block_plan<T> plan_block(const T* x, T limit) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t lanes = register_bytes / sizeof(T);
    auto low = load(x), high = low;
    auto wild = unordered(low, low);
    for (std::size_t i = 0; i < block_elements; i += 2 * lanes) {
        const auto a = load(x + i), b = load(x + i + lanes);
        low = lower(low, lower(a, b));
        high = higher(high, higher(a, b));
        wild = either(wild, unordered(a, b));
    }
    return any(wild) ? block_plan<T>{T(0), raw_code<T>} : plan_of(lowest_of(low), highest_of(high), limit);
}

/// As szx::encode_block. Bytes are stored before the verdict on them: a block that fails is written again.
template <element T>
CCOLL_TARGET unsigned encode_block(const T* x, block_plan<T> plan, T limit, std::byte* out) noexcept
{
    CCOLL_EXACT_BODY
    using word = typename fields_of<T>::word;
    constexpr std::size_t lanes = register_bytes / sizeof(T);
    std::memcpy(out, &plan.middle, sizeof plan.middle);
    if (plan.bytes == 0) return 0;
    const auto middle = fill(plan.middle), bound = fill(limit);
    for (unsigned bytes = plan.bytes; bytes < raw_code<T> && bytes <= plan.bytes + 1; ++bytes) {
        const unsigned dropped = 8 * (raw_code<T> - bytes);
        const auto half = fill(std::bit_cast<T>(static_cast<word>(word{1} << (dropped - 1))));
        const auto keep = fill(std::bit_cast<T>(static_cast<word>(~word{0} << dropped)));
        const auto squeeze = squeeze_of<T>(bytes);
        auto worst = fill(T(0));
        std::byte* to = out + sizeof(T);
        if (plan.certain) {
            for (std::size_t i = 0; i < block_elements; i += lanes, to += bytes * lanes)
                put_top_bytes<T>(to, bits(cut(load(x + i) - middle, half, keep)), squeeze, bytes);
            return bytes;
        }
        for (std::size_t i = 0; i < block_elements; i += lanes, to += bytes * lanes) {
            const auto value = load(x + i), kept = cut(value - middle, half, keep);
            worst = worse(worst, (middle + kept) - value, bound);
            put_top_bytes<T>(to, bits(kept), squeeze, bytes);
        }
        if (below(worst, bound)) return bytes;
    }
    std::memcpy(out, x, block_elements * sizeof(T));
    return raw_code<T>;
}

/// Asks for what is soon written and read, a line at a time: eight at once keep the loads behind them waiting (a tenth slower).
template <class T, class To>
CCOLL_OPERATION void look_ahead(const std::byte* in, [[maybe_unused]] To& to, std::size_t i)
{
    if (i * sizeof(T) % 64 != 0) return;
    if constexpr (std::is_pointer_v<To>) fetch_ahead(to + i, 1);
    fetch<2>(in, 2 * fetch_distance, 1);
}

/// As szx::decode_block. @param to  a pointer, or lines
template <element T, class To = T*>
CCOLL_TARGET void decode_block(unsigned code, const std::byte* in, To to) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t lanes = register_bytes / sizeof(T);
    if (code == raw_code<T>) {
        for (std::size_t i = 0; i < block_elements; i += lanes, in += register_bytes) {
            look_ahead<T>(in, to, i);
            write(to, i, load(reinterpret_cast<const T*>(in)));
        }
        return;
    }
    T value;
    std::memcpy(&value, in, sizeof value);
    const auto middle = fill(value);
    if (code == 0) {  // not a sum with 0: that would change -0, which an encoder does not write but a decoder may meet
        for (std::size_t i = 0; i < block_elements; i += lanes) {
            look_ahead<T>(in, to, i);
            write(to, i, middle);
        }
        return;
    }
    const auto spread = spread_of<T>(code);
    in += sizeof value;
    for (std::size_t i = 0; i < block_elements; i += lanes, in += code * lanes) {
        look_ahead<T>(in, to, i);
        write(to, i, middle + top_bytes<T>(in, spread, code));
    }
}

/// Decodes whole blocks past the caches, as long as a register may be read behind them. @return how many
template <element T>
CCOLL_TARGET std::size_t stream_blocks(const std::byte* codes, std::size_t blocks, const_byte_span rest, T* x) noexcept
{
    if (blocks == 0 || rest.size() < block_room<T>) return 0;
    decode_block<T>(static_cast<unsigned>(codes[0]), rest.data(), x);
    lines to(x + block_elements);
    std::size_t b = 1;
    for (;; ++b) {
        rest = rest.subspan(block_bytes<T>(static_cast<unsigned>(codes[b - 1]), block_elements));
        if (b == blocks || rest.size() < block_room<T>) break;
        decode_block<T, lines&>(static_cast<unsigned>(codes[b]), rest.data(), to);
    }
    to.finish();
    return b;
}
