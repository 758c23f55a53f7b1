// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx_kernel.inl - floor 2. A block of SZx register by register: the text of szx_x86.hpp, which includes it once per
// instruction set, with CCOLL_TARGET and the operations on one register (load, fill, ...) in scope. Says what szx_block.hpp says,
// gives the same bytes, and rests on the proofs there.

/// As szx::plan_block. NaN are looked for, since a minimum overlooks them; an infinity needs no search, for nothing passes then.
template <element T>
CCOLL_TARGET block_plan<T> plan_block(const T* x, const block_scale<T>& scale) noexcept
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
    return any(wild) ? block_plan<T>{T(0), raw_code<T>} : plan_of(lowest_of(low), highest_of(high), scale);
}

/// As szx::encode_block. Bytes are stored before the verdict on them: a block that fails is written again.
template <element T>
CCOLL_TARGET unsigned encode_block(const T* x, block_plan<T> plan, const block_scale<T>& scale, std::byte* out) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t lanes = register_bytes / sizeof(T);
    std::memcpy(out, &plan.middle, sizeof plan.middle);
    if (plan.bytes == 0) return 0;
    if (plan.bytes < raw_code<T>) {
        const auto middle = fill(plan.middle), inverse = fill(scale.inverse), origin = fill(origin_of<T>(plan.bytes));
        const auto squeeze = squeeze_of<T>(plan.bytes);
        std::byte* to = out + sizeof(T);
        if (plan.certain) {
            for (std::size_t i = 0; i < block_elements; i += lanes, to += plan.bytes * lanes)
                put_low_bytes<T>(to, bits((load(x + i) - middle) * inverse + origin), squeeze, plan.bytes);
            return plan.bytes;
        }
        const auto step = fill(scale.step), bound = fill(scale.limit);
        auto worst = fill(T(0));
        for (std::size_t i = 0; i < block_elements; i += lanes, to += plan.bytes * lanes) {
            const auto value = load(x + i), moved = (value - middle) * inverse + origin;
            worst = worse(worst, (middle + (moved - origin) * step) - value, bound);
            put_low_bytes<T>(to, bits(moved), squeeze, plan.bytes);
        }
        if (below(worst, bound)) return plan.bytes;
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
    fetch_ahead(in, 1);
}

/// As szx::decode_block. @param to  a pointer, or lines
template <element T, class To = T*>
CCOLL_TARGET void decode_block(unsigned code, const std::byte* in, T step, To to) noexcept
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
    const auto origin = fill(origin_of<T>(code)), steps = fill(step);
    in += sizeof value;
    for (std::size_t i = 0; i < block_elements; i += lanes, in += code * lanes) {
        look_ahead<T>(in, to, i);
        write(to, i, middle + (low_bytes<T>(in, spread, code) - origin) * steps);
    }
}

/// Decodes whole blocks past the caches, as long as a register may be read behind them. @return how many
template <element T>
CCOLL_TARGET std::size_t stream_blocks(const std::byte* codes, std::size_t blocks, const_byte_span rest, T step, T* x) noexcept
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
