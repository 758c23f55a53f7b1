// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/zfp/encode.inl - floor 2. The streams of ZFP, written with the instructions that deposit and extract bits: one text, compiled once
// per instruction set. Sixteen blocks at a time are transformed in loops that compilers vectorise. codec/zfp/planes.hpp says what is
// written.

/// Blocks in a batch. An array has one number of each block.
inline constexpr std::size_t batch = 16;
template <class Number>
using of_batch = Number[batch];

/// x 2^k for each k that a block may have, in two steps because 2^k may be no normal number. Rounds once at most: where the first step
/// rounds, the result is far below 1, and only its whole part is used.
template <native_float T>
CCOLL_INLINE T scaled(T x, typename fields_of<T>::signed_word k) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    const auto power = [](typename fields::signed_word e) {
        return std::bit_cast<T>(static_cast<typename fields::word>(e + block<T>::bias) << fields::mantissa_bits);
    };
    const auto half = static_cast<typename fields::signed_word>(k >> 1);
    return x * power(half) * power(k - half);
}

/// Exponents and coefficients of a batch. The loops are short and many, because compilers vectorise those.
template <native_float T>
struct coefficients {
    using fields = fields_of<T>;
    using word = typename fields::word;
    using integer = typename fields::signed_word;
    static constexpr int bias = block<T>::bias;
    static constexpr word alternating = static_cast<word>(0xaaaaaaaaaaaaaaaau);

    of_batch<integer> exponent;
    of_batch<integer> planes;  ///< that are kept
    of_batch<word> kept;       ///< the same as bits
    of_batch<word> c[block_values];

    CCOLL_INLINE static word half(word a) noexcept { return static_cast<word>(static_cast<integer>(a) >> 1); }
    CCOLL_INLINE static integer planes_of(integer exponent, int lowest_exponent) noexcept
    {
        const auto count = static_cast<integer>(exponent - lowest_exponent + 4);
        const integer some = count > 0 ? count : 0;
        return some < fields::word_bits ? some : integer{fields::word_bits};
    }

    /// What block::encode does before it writes; planes that are not kept become 0.
    CCOLL_INLINE void forward(const T* x, int lowest_exponent) noexcept
    {
        CCOLL_EXACT_BODY
        of_batch<T> v[block_values];
        for (std::size_t b = 0; b < batch; ++b)
            for (std::size_t i = 0; i < block_values; ++i) v[i][b] = x[4 * b + i];
        for (std::size_t b = 0; b < batch; ++b) {
            const auto largest = [](integer p, integer q) { return p > q ? p : q; };
            const integer most = largest(largest(fields::signed_magnitude(v[0][b]), fields::signed_magnitude(v[1][b])),
                                         largest(fields::signed_magnitude(v[2][b]), fields::signed_magnitude(v[3][b])));
            const integer e = largest((most >> fields::mantissa_bits) - bias + 1, 1 - bias);
            const integer count = planes_of(e, lowest_exponent), p = most == 0 ? 0 : count;
            exponent[b] = e;
            planes[b] = p;
            kept[b] = static_cast<word>(~(~word{0} >> (p >> 1) >> (p - (p >> 1))));  // p may be all bits
        }
        for (std::size_t i = 0; i < block_values; ++i)
            for (std::size_t b = 0; b < batch; ++b)
                c[i][b] = static_cast<word>(static_cast<integer>(scaled(v[i][b], integer{fields::word_bits - 2} - exponent[b])));
        for (std::size_t b = 0; b < batch; ++b) {
            word p = c[0][b], r = c[1][b], s = c[2][b], t = c[3][b];
            p = half(p + t), t -= p;
            s = half(s + r), r -= s;
            p = half(p + s), s -= p;
            t = half(t + r), r -= t;
            t += half(r), r -= half(t);
            c[0][b] = ((p + alternating) ^ alternating) & kept[b];
            c[1][b] = ((r + alternating) ^ alternating) & kept[b];
            c[2][b] = ((s + alternating) ^ alternating) & kept[b];
            c[3][b] = ((t + alternating) ^ alternating) & kept[b];
        }
    }
    CCOLL_INLINE void inverse(T* x) const noexcept
    {
        CCOLL_EXACT_BODY
        of_batch<T> v[block_values];
        for (std::size_t b = 0; b < batch; ++b) {
            word p = (c[0][b] ^ alternating) - alternating, r = (c[1][b] ^ alternating) - alternating;
            word s = (c[2][b] ^ alternating) - alternating, t = (c[3][b] ^ alternating) - alternating;
            r += half(t), t -= half(r);
            r += t, t <<= 1, t -= r;
            s += p, p <<= 1, p -= s;
            r += s, s <<= 1, s -= r;
            t += p, p <<= 1, p -= t;
            const integer k = exponent[b] - integer{fields::word_bits - 2};
            v[0][b] = scaled(static_cast<T>(static_cast<integer>(p)), k);
            v[1][b] = scaled(static_cast<T>(static_cast<integer>(r)), k);
            v[2][b] = scaled(static_cast<T>(static_cast<integer>(s)), k);
            v[3][b] = scaled(static_cast<T>(static_cast<integer>(t)), k);
        }
        for (std::size_t b = 0; b < batch; ++b)
            for (std::size_t i = 0; i < block_values; ++i) x[4 * b + i] = v[i][b];
    }
};

/// The codes of eight planes at a time: which of up to seven bits a plane may have, and which of them it has. The first plane is the first
/// byte, and the first bit of a code is the lowest one of its byte.
///
/// A coefficient is known in a plane if it, or one behind it, has a 1 in a higher plane. So the known ones are the first n, and none of
/// this depends on a plane before it. Each of the first three coefficients has two bits here, and the last one has one:
///   search  its own bit, where it is known; else: has it, or one behind it, a 1? It is there for coefficients up to the first unknown one,
///           and for the one behind each 1 that was found
///   found   of an unknown one: its bit, if it or one behind it has a 1
template <native_float T>
struct plane_slots {
    static constexpr std::size_t octets = sizeof(T);
    of_batch<std::uint64_t> bits[octets], there[octets];

    /// @param count       octets that are wanted at most, from the highest planes on
    /// @param block_bits  what there is room for, if not 0: octets behind it in all blocks are not needed
    /// @return how many were found
    CCOLL_INLINE std::size_t find(const coefficients<T>& from, std::size_t count, std::size_t block_bits) noexcept
    {
        using word = typename coefficients<T>::word;
        of_batch<word> value[7], present[7];
        const auto& c = from.c;
        for (std::size_t b = 0; b < batch; ++b) {
            const word v0 = c[0][b], v1 = c[1][b], v2 = c[2][b], v3 = c[3][b], kept = from.kept[b];
            const word a2 = v2 | v3, a1 = v1 | a2, a0 = v0 | a1;
            const word k0 = below_highest(a0), k1 = below_highest(a1), k2 = below_highest(a2);
            value[0][b] = v0 | (a1 & ~k0), present[0][b] = kept;
            value[1][b] = v0, present[1][b] = a0 & ~k0;
            value[2][b] = v1 | (a2 & ~k1), present[2][b] = (k0 | v0) & kept;
            value[3][b] = v1, present[3][b] = a1 & ~k1;
            value[4][b] = v2 | (v3 & ~k2), present[4][b] = (k1 | v1) & kept;
            value[5][b] = v2, present[5][b] = a2 & ~k2;
            value[6][b] = v3, present[6][b] = (k2 | v2) & kept;
        }
        // A plane has four bits at most. To count is worth it if it can save two octets.
        const bool counted = block_bits > 0 && (block_bits - block<T>::header_bits + 31) / 32 + 1 < count;
        of_batch<std::size_t> filled;
        for (std::size_t b = 0; b < batch; ++b) filled[b] = from.planes[b] > 0 ? block<T>::header_bits : block_bits;
        for (std::size_t o = 0; o < count; ++o) {
            const auto shift = static_cast<int>(8 * (octets - 1 - o));
            gather(value, shift, bits[o]);
            gather(present, shift, there[o]);
            if (!counted) continue;
            std::size_t least = block_bits;
            for (std::size_t b = 0; b < batch; ++b)
                least = std::min(least, filled[b] += static_cast<std::size_t>(_mm_popcnt_u64(there[o][b])));
            if (least == block_bits) return o + 1;
        }
        return count;
    }

private:
    /// The bits below the highest 1.
    template <class Word>
    CCOLL_INLINE static Word below_highest(Word x) noexcept
    {
        x |= x >> 1;
        x |= x >> 2;
        x |= x >> 4;
        x |= x >> 8;
        x |= x >> 16;
        if constexpr (sizeof(Word) == 8) x |= x >> 32;
        return x >> 1;
    }
    /// Slot k of plane p is bit k of byte p: what was bit 7 - p of a byte of slot k.
    template <class Word>
    CCOLL_INLINE static void gather(const of_batch<Word>* slot, int shift, std::uint64_t* to) noexcept
    {
        for (std::size_t b = 0; b < batch; ++b) {
            const auto byte = [&](std::size_t k) { return static_cast<std::uint32_t>(slot[k][b] >> shift) & 255u; };
            const std::uint32_t low = byte(6) << 8 | byte(5) << 16 | byte(4) << 24;
            const std::uint32_t high = byte(3) | byte(2) << 8 | byte(1) << 16 | byte(0) << 24;
            to[b] = std::uint64_t{high} << 32 | low;
        }
        // About the other diagonal: bits trade places in squares of 1, 2 and 4.
        for (std::size_t b = 0; b < batch; ++b) {
            std::uint64_t x = to[b], t;
            t = (x ^ x >> 9) & 0x0055005500550055u, x ^= t ^ t << 9;
            t = (x ^ x >> 18) & 0x0000333300003333u, x ^= t ^ t << 18;
            t = (x ^ x >> 36) & 0x000000000f0f0f0fu, x ^= t ^ t << 36;
            to[b] = x;
        }
    }
};

/// Appends up to 56 bits at a time, and stores 8 bytes each time.
class few_bits_writer {
public:
    CCOLL_INLINE explicit few_bits_writer(std::byte* to) noexcept : begin_(to), to_(to) {}
    CCOLL_INLINE void put(std::uint64_t value, std::size_t bits) noexcept
    {
        held_ |= value << held_bits_;
        std::memcpy(to_, &held_, sizeof held_);
        held_bits_ += bits;
        to_ += held_bits_ / 8;
        held_ >>= held_bits_ & 56;
        held_bits_ &= 7;
    }
    CCOLL_INLINE std::size_t bytes() const noexcept { return static_cast<std::size_t>(to_ - begin_) + (held_bits_ != 0); }

private:
    std::byte *begin_, *to_;
    std::uint64_t held_ = 0;
    std::size_t held_bits_ = 0;
};

/// Stores a block of whole bytes, at most 16, with zeros behind its last code. Always stores 16 bytes, which is faster, and up to
/// slack_bytes behind the block.
template <native_float T>
CCOLL_INLINE void store_block(std::uint64_t front, std::size_t front_bits, const plane_slots<T>& slots, std::size_t b, std::size_t octets,
                              std::size_t block_bits, std::byte* to) noexcept
{
    if (block_bits <= 64) {
        std::uint64_t low = front;
        std::size_t at = front_bits;
        for (std::size_t o = 0; o < octets; ++o) {
            low |= at < 64 ? _pext_u64(slots.bits[o][b], slots.there[o][b]) << at % 64 : 0;
            at += static_cast<std::size_t>(_mm_popcnt_u64(slots.there[o][b]));
        }
        const std::uint64_t words[2] = {_bzhi_u64(low, static_cast<std::uint32_t>(block_bits)), 0};
        std::memcpy(to, words, sizeof words);
        return;
    }
    // What is too much is written as well, and then over it: no branch depends on where a code ends, which none could foresee.
    std::memset(to, 0, 16);
    few_bits_writer codes(to);
    codes.put(front, front_bits);
    for (std::size_t o = 0; o < octets; ++o)
        codes.put(_pext_u64(slots.bits[o][b], slots.there[o][b]), static_cast<std::size_t>(_mm_popcnt_u64(slots.there[o][b])));
}

/// @see portable::encode_stream
template <native_float T>
CCOLL_TARGET std::size_t encode_stream(std::span<const T> in, const precision& wanted, T limit, std::byte* stream,
                                       exception_list& exceptions) noexcept
{
    CCOLL_EXACT_BODY
    constexpr std::size_t batch_values = batch * block_values, header = block<T>::header_bits;
    few_bits_writer to(stream);
    const std::size_t at_rate = wanted.block_bits;
    const bool checked = limit > 0, whole_rate = at_rate > 0 && at_rate % 8 == 0 && at_rate <= 128;
    for (std::size_t at = 0; at < in.size(); at += batch_values) {
        const std::size_t count = std::min(batch_values, in.size() - at), blocks = (count + block_values - 1) / block_values;
        T original[batch_values] = {}, x[batch_values], decoded[batch_values];
        const T* from = in.data() + at;
        if (count < batch_values) {
            std::memcpy(original, from, count * sizeof(T));
            from = original;
        }
        for (std::size_t i = 0; i < batch_values; ++i)
            x[i] = fields_of<T>::signed_magnitude(from[i]) < std::bit_cast<typename fields_of<T>::signed_word>(fields_of<T>::exponent)
                       ? from[i]
                       : T(0);
        if (count % block_values != 0) fill_up(x + count / block_values * block_values, count % block_values);

        coefficients<T> batch_coefficients;
        batch_coefficients.forward(x, wanted.lowest_exponent);
        typename coefficients<T>::integer most = 0;
        for (const auto p : batch_coefficients.planes) most = std::max(most, p);
        std::size_t used = (static_cast<std::size_t>(most) + 7) / 8;
        if (at_rate > 0) used = std::min(used, (at_rate - header + 7) / 8);  // a plane has a bit at least
        plane_slots<T> slots;
        used = slots.find(batch_coefficients, used, at_rate);

        if (whole_rate) {
            for (std::size_t b = 0; b < blocks; ++b) {
                const bool some = batch_coefficients.planes[b] > 0;
                store_block(some ? 2 * static_cast<std::uint64_t>(batch_coefficients.exponent[b] + block<T>::bias) + 1 : 0,
                            some ? header : 1, slots, b, used, at_rate, stream + (at / block_values + b) * (at_rate / 8));
            }
        }
        for (std::size_t b = 0; b < blocks && !whole_rate; ++b) {
            const bool some = batch_coefficients.planes[b] > 0;
            std::size_t left = at_rate;
            to.put(some ? 2 * static_cast<std::uint64_t>(batch_coefficients.exponent[b] + block<T>::bias) + 1 : 0, some ? header : 1);
            if (at_rate == 0) {
                for (std::size_t o = 0; o < used; ++o)
                    to.put(_pext_u64(slots.bits[o][b], slots.there[o][b]), static_cast<std::size_t>(_mm_popcnt_u64(slots.there[o][b])));
                continue;
            }
            left -= some ? header : 1;
            for (std::size_t o = 0; o < used; ++o) {
                const std::size_t bits = std::min(static_cast<std::size_t>(_mm_popcnt_u64(slots.there[o][b])), left);
                to.put(_bzhi_u64(_pext_u64(slots.bits[o][b], slots.there[o][b]), static_cast<std::uint32_t>(bits)), bits);
                left -= bits;
            }
            for (; left > 56; left -= 56) to.put(0, 56);
            to.put(0, left);
        }

        std::size_t bad = 0;
        if (checked) {
            batch_coefficients.inverse(decoded);
            for (std::size_t i = 0; i < batch_values; ++i) bad += !(std::fabs(decoded[i] - from[i]) < limit);
        } else {
            for (std::size_t i = 0; i < batch_values; ++i) bad += !is_finite(from[i]);
        }
        if (bad == 0) continue;
        for (std::size_t i = 0; i < count; ++i) {
            if (checked ? std::fabs(decoded[i] - from[i]) < limit : is_finite(from[i])) continue;
            if (!exceptions.add(at + i)) return 0;
        }
    }
    return whole_rate ? (in.size() + block_values - 1) / block_values * (at_rate / 8) : to.bytes();
}
