// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/quanta64.hpp - floor 2. Chunks of SZp with quanta of 64 bits, where more than 30 are needed: sums that have outgrown them,
// values far beyond the bound, fine chunks of f64. At relative bounds of 1e-9 and looser they do not occur.
// Plain code for all machines, but for blocks without classes (szp/quanta64.inl).
#pragma once

#include <cmath>
#include <limits>

#include <ccoll/codec/szp/kernels.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp::quanta64 {

CCOLL_EXACT_BEGIN

/// Largest |x / step| of an addend's value: double holds quanta up to here, and 2^10 ranks at least can add them.
inline constexpr double largest_quantum = 0x1p52;

struct encoded {
    u8* end = nullptr;
    u64 largest = 0;
    u32 escaped = 0;
    status code = status::ok;
};

/// Two's-complement planes of 64-bit differences. @return the width, 0..64
[[gnu::noinline]] inline unsigned put_planes(const i64* d, u8* out) noexcept
{
    u64 folded = 0, negative = 0;
    i32 low[block_elements], high[block_elements];
    for (std::size_t i = 0; i < block_elements; ++i) {
        folded |= static_cast<u64>(d[i] ^ (d[i] >> 63));
        negative |= static_cast<u64>(d[i]);
        low[i] = static_cast<i32>(static_cast<u64>(d[i]));
        high[i] = static_cast<i32>(d[i] >> 32);
    }
    const unsigned width = folded != 0 ? 65u - static_cast<unsigned>(std::countl_zero(folded)) : static_cast<unsigned>(negative >> 63);
    for (unsigned k = 0; k < width; k += 8) portable::put_8_planes(k < 32 ? low : high, static_cast<int>(k % 32), out + 4 * k);
    return width;
}
/// Appends a block with its class planes, if it has any. @return its code
inline u8 put_block(const i64* d, u32 a, u32 b, u8*& p) noexcept
{
    const bool classes = (a | b) != 0;
    if (classes) {
        put(p, a);
        put(p + 4, b);
        p += 8;
    }
    const unsigned width = put_planes(d, p);
    p += 4 * width;
    return static_cast<u8>(width | (classes ? class_code : 0));
}
[[gnu::noinline]] inline void get_planes(const u8* in, unsigned width, i64* d) noexcept
{
    i32 low[block_elements], high[block_elements];
    for (unsigned at = 0; at < width; at += 32) portable::get_planes(in + 4 * at, std::min(width - at, 32u), at == 0 ? low : high);
    for (std::size_t i = 0; i < block_elements; ++i)
        d[i] = width > 32 ? static_cast<i64>(u64{static_cast<u32>(high[i])} << 32 | static_cast<u32>(low[i])) : low[i];
}

/// Is a number of this magnitude within largest_quantum steps?
template <class T>
bool is_quantum(double magnitude, const quantiser<T>& z) noexcept
{
    CCOLL_EXACT_BODY
    return magnitude < largest_quantum * static_cast<double>(z.step);
}

/// @param z      step and inverse_f64; of an addend the common grid
/// @param addend  Inf and NaN go to class planes; else all values are below the limit
/// @return       code unsupported: an addend has a value beyond largest_quantum steps.
template <class T>
encoded encode_blocks(const T* x, std::size_t n, const quantiser<T>& z, bool addend, i64 base, u8* out, const u8* last, u8* codes) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    const double step = static_cast<double>(z.step);
    encoded all;
    u8* p = out;
    i64 before = base;
    bool any = false;
    overhang beyond;
    // Quanta of addends on the common grid are corrected only where the simple quotient is not certain.
    const grid_64 grid{step, z.inverse_f64, addend ? static_cast<double>(std::bit_cast<T>(z.narrow)) : 0,
                       addend ? largest_quantum * step : std::numeric_limits<double>::infinity()};
    const auto encode_fast = block_encoders_64.in_use();
    for (std::size_t k = 0; k < blocks_of(n); ++k) {
        if (p > last) {
            if (beyond.in_use()) {
                all.code = status::out_of_space;
                return all;
            }
            last = beyond.take_over(p, last);
        }
        const std::size_t count = std::min(block_elements, n - block_elements * k);
        if constexpr (!is_f32<T>)
            if (count == block_elements)
                if (const unsigned width = encode_fast(x + block_elements * k, grid, before, all.largest, p); width != no_width_64) {
                    codes[k] = static_cast<u8>(width);
                    any = any || width != 0;
                    p += 4 * width;
                    continue;
                }
        T block[block_elements];
        for (std::size_t i = 0; i < block_elements; ++i) std::memcpy(block + i, x + block_elements * k + std::min(i, count - 1), sizeof(T));
        i64 d[block_elements];
        block_class c;
        i64 q = before;
        for (unsigned i = 0; i < block_elements; ++i) {
            const auto w = fields::magnitude(block[i]);
            const i64 previous = q;
            if (w >= fields::exponent && addend) {
                c.mark(i, block[i]);
            } else if (addend && !is_quantum(std::fabs(static_cast<double>(block[i])), z)) {
                all.code = status::unsupported;
                return all;
            } else {
                q = addend ? quantum_of(block[i], z) : nearest_quantum(static_cast<double>(block[i]), step, z.inverse_f64);
                all.largest = std::max(all.largest, static_cast<u64>(q < 0 ? -q : q));
            }
            d[i] = q - previous;
        }
        before = q;
        codes[k] = put_block(d, c.a, c.b, p);
        all.escaped += codes[k] >= class_code;
        any = any || codes[k] != 0;
    }
    all.end = !any ? out : beyond.in_use() ? beyond.end(p) : p;
    if (all.end == nullptr) all.code = status::out_of_space;
    return all;
}

/// x' = T(double(q) step): for q of up to 53 bits one rounding to double and one to T.
template <class T>
void decode_blocks(const chunk_view& view, double step, T* x, std::size_t n) noexcept
{
    CCOLL_EXACT_BODY
    const u8* const end = view.blocks + view.blocks_bytes;
    const auto decode_fast = block_decoders_64<T>.in_use();
    const u8* p = view.blocks;
    u64 q = static_cast<u64>(view.base);
    for (std::size_t k = 0; k < view.count; ++k) {
        const std::size_t count = std::min(block_elements, n - block_elements * k);
        unsigned width = view.codes.of[k];
        if (count == block_elements && width <= widest && static_cast<std::size_t>(end - p) >= portable::reach_64) {
            decode_fast(p, width, q, step, x + block_elements * k);
            p += 4 * width;
            continue;
        }
        T block[block_elements];
        const u32 a = class_plane(p, width, 0), b = class_plane(p, width, 1);
        skip_class(p, width);
        i64 d[block_elements] = {};
        if (width > 0) get_planes(p, width, d);
        for (std::size_t i = 0; i < block_elements; ++i) {
            q += static_cast<u64>(d[i]);
            block[i] = static_cast<T>(static_cast<double>(static_cast<i64>(q)) * step);
        }
        if ((a | b) != 0) apply_class(a, b, block);
        p += 4 * width;
        std::memcpy(x + block_elements * k, block, count * sizeof(T));
    }
}

/// An operand of a linear combination, block by block.
class scaled_blocks {
public:
    /// @param factor  0 leaves the operand out, NaN and Inf included
    scaled_blocks(const chunk_view& view, i64 factor) noexcept : view_(view), factor_(factor), at_(view.blocks) {}

    /// Adds factor times the differences of block k, and its classes; a negative factor turns the signs of Inf.
    void add_to(std::size_t k, i64* d, u32& a, u32& b) noexcept
    {
        if (view_.blocks == nullptr) return;  // flat: all differences are 0
        unsigned width = view_.codes.of[k];
        if (factor_ != 0) {
            a |= class_plane(at_, width, factor_ > 0 ? 0 : 1);
            b |= class_plane(at_, width, factor_ > 0 ? 1 : 0);
        }
        skip_class(at_, width);
        if (width > 0 && factor_ != 0) {
            i64 own[block_elements];
            get_planes(at_, width, own);
            for (std::size_t i = 0; i < block_elements; ++i)
                d[i] = static_cast<i64>(static_cast<u64>(d[i]) + static_cast<u64>(factor_) * static_cast<u64>(own[i]));
        }
        at_ += 4 * width;
    }

private:
    const chunk_view& view_;
    i64 factor_;
    const u8* at_;
};

/// Blocks of a linear combination; the caller has seen to it that its quanta fit 62 bits.
inline encoded combine_blocks(scaled_blocks x, scaled_blocks y, std::size_t blocks, u8* out, u8* codes) noexcept
{
    encoded all;
    u8* p = out;
    bool any = false;
    for (std::size_t k = 0; k < blocks; ++k) {
        i64 d[block_elements] = {};
        u32 a = 0, b = 0;
        x.add_to(k, d, a, b);
        y.add_to(k, d, a, b);
        codes[k] = put_block(d, a, b, p);
        all.escaped += codes[k] >= class_code;
        any = any || codes[k] != 0;
    }
    all.end = any ? p : out;
    return all;
}

CCOLL_EXACT_END

}  // namespace ccoll::detail::szp::quanta64
