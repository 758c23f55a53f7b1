// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szx/loops.inl - floor 2. A block of SZx register by register: one text, included into the namespace
// of each instruction set behind its primitives. Says what szx/portable.hpp says, gives the same bytes, and
// rests on the proofs in szx/quantiser.hpp.
//
// Of a set's registers V (values) and B (their bits) the loops need:
//   register_bytes                             of a register
//   load(x) -> V, fill(value) -> V, bits(V) -> B
//   lower(V, V), higher(V, V) -> V             the lesser and the larger of two values; of NaN and of two
//                                              zeros either
//   lowest_of(V), highest_of(V) -> T           of all values of a register
//   unordered(V, V), either, any -> bool       a mask of values that are NaN in one of two registers, two
//                                              masks, is there one
//   worse(V worst, V error, V bound) -> V      collects errors, as their largest magnitude or as a mask,
//                                              whichever is cheap
//   below(V worst, V bound) -> bool            the verdict on what was collected
//   squeeze_of<T>(bytes), spread_of<T>(bytes)  what the next two need
//   put_low_bytes<T>(to, B, squeeze, bytes)    the low bytes of all values together; may write block_slack
//                                              bytes
//   low_bytes<T>(from, spread, bytes) -> V     and back, completed to numbers by the origin's upper bits
//   write(to, at, V)                           to a pointer, or to the set's line writer (streams.inl)

template <class T>
concept set_for = requires(const T* x, T value, T* to, std::byte* out, const std::byte* in, unsigned n) {
    lower(load(x), higher(load(x), fill(value)));
    { lowest_of(load(x)) } -> std::same_as<T>;
    { highest_of(load(x)) } -> std::same_as<T>;
    { any(either(unordered(load(x), load(x)), unordered(load(x), load(x)))) } -> std::same_as<bool>;
    { below(worse(fill(value), load(x), fill(value)), fill(value)) } -> std::same_as<bool>;
    put_low_bytes<T>(out, bits(load(x)), squeeze_of<T>(n), n);
    write(to, std::size_t{}, low_bytes<T>(in, spread_of<T>(n), n));
};
static_assert(set_for<float> && set_for<double>,
              "ccoll: an instruction set of SZx must have every primitive that szx/loops.inl lists, for "
              "float and double");

/// Counts of steps, above the origin.
template <class V>
CCOLL_INLINE V counted(V value, V middle, V inverse, V origin) noexcept
{
    CCOLL_EXACT_BODY
    V steps = (value - middle) * inverse;
    CCOLL_ROUNDED(steps);
    return steps + origin;
}
/// What a decoder makes of them.
template <class V>
CCOLL_INLINE V value_of(V count, V middle, V step, V origin) noexcept
{
    CCOLL_EXACT_BODY
    V difference = (count - origin) * step;
    CCOLL_ROUNDED(difference);
    return middle + difference;
}

/// As portable::plan_block. Looks for NaN, because a minimum overlooks them. Infinities need no search,
/// because with them no value passes.
template <element T>
CCOLL_TARGET block_plan<T> plan_block(const T* x, const block_scale<T>& scale) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t per_register = register_bytes / sizeof(T);
    auto low = load(x), high = low;
    auto wild = unordered(low, low);
    for (std::size_t i = 0; i < block_elements; i += 2 * per_register) {
        const auto a = load(x + i), b = load(x + i + per_register);
        low = lower(low, lower(a, b));
        high = higher(high, higher(a, b));
        wild = either(wild, unordered(a, b));
    }
    return any(wild) ? block_plan<T>{T(0), raw_code<T>} : plan_of(lowest_of(low), highest_of(high), scale);
}

/// As portable::encode_block. Bytes are stored before they have been verified; a block that fails is written
/// again.
template <element T>
CCOLL_TARGET unsigned encode_block(const T* x, block_plan<T> plan, const block_scale<T>& scale,
                                   std::byte* out) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t per_register = register_bytes / sizeof(T);
    std::memcpy(out, &plan.middle, sizeof plan.middle);
    if (plan.bytes == 0) return 0;
    if (plan.bytes < raw_code<T>) {
        const auto middle = fill(plan.middle), inverse = fill(scale.inverse),
                   origin = fill(origin_of<T>(plan.bytes));
        const auto squeeze = squeeze_of<T>(plan.bytes);
        std::byte* to = out + sizeof(T);
        if (plan.certain) {
            CCOLL_UNROLLED_ROUNDED for (std::size_t i = 0; i < block_elements;
                                        i += per_register, to += plan.bytes * per_register)
                put_low_bytes<T>(to, bits(counted(load(x + i), middle, inverse, origin)), squeeze,
                                 plan.bytes);
            return plan.bytes;
        }
        const auto step = fill(scale.step), bound = fill(scale.limit);
        auto worst = fill(T(0));
        CCOLL_UNROLLED_ROUNDED for (std::size_t i = 0; i < block_elements;
                                    i += per_register, to += plan.bytes * per_register)
        {
            const auto value = load(x + i), scaled = counted(value, middle, inverse, origin);
            worst = worse(worst, value_of(scaled, middle, step, origin) - value, bound);
            put_low_bytes<T>(to, bits(scaled), squeeze, plan.bytes);
        }
        if (below(worst, bound)) return plan.bytes;
    }
    std::memcpy(out, x, block_elements * sizeof(T));
    return raw_code<T>;
}

/// Prefetches what is written and read soon, one line at a time. Eight at once delay the loads behind them (a
/// tenth slower).
template <class T, class To>
CCOLL_INLINE void look_ahead(const std::byte* in, [[maybe_unused]] To& to, std::size_t i)
{
    if (i * sizeof(T) % 64 != 0) return;
    if constexpr (std::is_pointer_v<To>) fetch_ahead(to + i, 1);
    fetch_ahead(in, 1);
}

/// As portable::decode_block. @param to  a pointer, or lines
template <element T, class To = T*>
CCOLL_TARGET void decode_block(unsigned code, const std::byte* in, T step, To to) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t per_register = register_bytes / sizeof(T);
    if (code == raw_code<T>) {
        for (std::size_t i = 0; i < block_elements; i += per_register, in += register_bytes) {
            look_ahead<T>(in, to, i);
            write(to, i, load(reinterpret_cast<const T*>(in)));
        }
        return;
    }
    T value;
    std::memcpy(&value, in, sizeof value);
    const auto middle = fill(value);
    // No sum with 0, which would change -0: encoders do not write it, but decoders may meet it.
    if (code == 0) {
        for (std::size_t i = 0; i < block_elements; i += per_register) {
            look_ahead<T>(in, to, i);
            write(to, i, middle);
        }
        return;
    }
    const auto spread = spread_of<T>(code);
    const auto origin = fill(origin_of<T>(code)), steps = fill(step);
    in += sizeof value;
    for (std::size_t i = 0; i < block_elements; i += per_register, in += code * per_register) {
        look_ahead<T>(in, to, i);
        write(to, i, value_of(low_bytes<T>(in, spread, code), middle, steps, origin));
    }
}
