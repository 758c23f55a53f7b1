// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp_portable.hpp - floor 2. The kernels of SZp in plain C++, shaped for a compiler that vectorises; the reference for all others.
#pragma once

#include <ccoll/base/memory.hpp>
#include <ccoll/base/stores.hpp>
#include <ccoll/codec/szp_quantiser.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// What encoding does with a block that the common grid does not hold.
enum class beyond_safe {
    stop,   ///< report `unsupported`: the caller looks for a grid of the chunk's own
    raw,    ///< keep its elements
    fine,   ///< the same; all others are quantised in double, on the step of the chunk (f32)
    addend  ///< quantise in double, keep Inf and NaN in class planes; beyond 2^30 steps report `unsupported`
};

/// What stands before the first value of a chunk.
struct predictor {
    i32 quantum = 0;
    bool none = false;  ///< differences are the quanta themselves
};

struct encoded_blocks {
    u8* end = nullptr;  ///< of the blocks; their begin, if all differences are 0
    u32 largest = 0;    ///< >= every |q|
    u32 escaped = 0;
    status code = status::ok;
};

/// An encoder needs so much memory behind the place where a block begins: for the block, and for what kernels write behind it.
inline constexpr std::size_t block_room = longest_block + slack;

/// Where the blocks of a chunk go on when less than block_room is left in front of its end. The finished chunk may still be shorter than its
/// elements, because the blocks to come may be short; whether it is must not depend on how much memory an encoder wants.
class overhang {
public:
    /// @param p     the next block, behind `last`: moves to memory of this object    @param last  the same
    /// @return      false: with the blocks so far the chunk is too long already
    bool take_over(u8*& p, const u8*& last) noexcept
    {
        if (from_ != nullptr) return false;
        from_ = p;
        end_ = last + block_room;
        p = room_;
        last = room_ + block_room;
        return true;
    }
    /// Puts what was taken over behind the rest. @return the end of the blocks; null if they are too long
    u8* end(const u8* p) const noexcept
    {
        const auto bytes = static_cast<std::size_t>(p - room_);
        if (bytes > static_cast<std::size_t>(end_ - from_)) return nullptr;
        std::memcpy(from_, room_, bytes);
        return from_ + bytes;
    }
    bool in_use() const noexcept { return from_ != nullptr; }

private:
    u8* from_ = nullptr;
    const u8* end_ = nullptr;
    u8 room_[2 * block_room];
};

inline u32 class_plane(const u8* block, unsigned code, unsigned which) noexcept
{
    return (code & class_code) != 0 ? get<u32>(block + 4 * which) : 0;
}
inline void skip_class(const u8*& block, unsigned& code) noexcept
{
    if ((code & class_code) == 0) return;
    block += 8;
    code -= class_code;
}

/// Kernels read whole registers: up to `reach` bytes from the begin of a block. Those that begin near the end are read from a copy.
class block_source {
public:
    explicit block_source(const chunk_view& view) noexcept
        : end_(view.blocks + view.blocks_bytes), turn_(view.blocks_bytes > reach ? end_ - reach : view.blocks)
    {
    }
    /// `p`, or where its bytes are in the copy.
    const u8* readable(const u8* p) noexcept
    {
        if (p < turn_ || turned_) [[likely]] return p;
        turned_ = true;
        const auto bytes = static_cast<std::size_t>(end_ - p);
        std::memcpy(copy_, p, bytes);
        std::memset(copy_ + bytes, 0, sizeof copy_ - bytes);
        return copy_;
    }

    /// So many blocks in front need no `readable`.
    [[gnu::noinline]] static std::size_t plain_blocks(const chunk_view& view) noexcept
    {
        std::size_t k = view.count, behind = 0;
        while (k > 0 && behind < reach) behind += least_bytes(view.codes.of[--k]);
        return behind < reach ? 0 : k + 1;
    }

private:
    static constexpr std::size_t reach = 8 + 4 * widest_narrow;

    static std::size_t least_bytes(unsigned code) noexcept
    {
        return code == raw_code ? 4 * block_elements : code >= class_code ? 8 + 4 * std::size_t{code - class_code} : 4 * std::size_t{code};
    }

    const u8 *end_, *turn_;
    bool turned_ = false;
    u8 copy_[2 * reach];
};

/// The blocks of a chunk in runs that a decoder restores without any other question; what is raw, has classes, or is not whole is seen
/// to here.
///
///     for (block_runs<T> runs(view, x, n); runs.next();) runs.planes = <restore runs.blocks blocks from runs.planes to runs.to>;
template <class T>
class block_runs {
public:
    block_runs(const chunk_view& view, T* x, std::size_t n) noexcept
        : planes(view.blocks), view_(view), from_(view), x_(x), n_(n), plain_(block_source::plain_blocks(view))
    {
    }

    const u8* planes;
    const u8* widths = nullptr;
    std::size_t blocks = 0;
    T* to = nullptr;

    /// @return whether there is another run; of no blocks, perhaps
    [[gnu::noinline]] bool next() noexcept
    {
        if ((a_ | b_) != 0) apply_class(a_, b_, to);
        if (to == tail_) std::memcpy(x_ + block_elements * (n_ / block_elements), tail_, n_ % block_elements * sizeof(T));
        a_ = b_ = 0;
        if (k_ == view_.count) return false;

        planes = from_.readable(planes);
        widths = view_.codes.of + k_;
        to = x_ + block_elements * k_;
        const std::size_t whole = n_ / block_elements, end = std::min(k_ < plain_ ? plain_ : view_.count, whole);
        blocks = 0;
        if (view_.escaped == 0 && k_ < end) blocks = end - k_;
        while (view_.escaped != 0 && k_ + blocks < end && widths[blocks] < raw_code) ++blocks;
        k_ += blocks;
        if (blocks == 0) take_one();
        return true;
    }

private:
    void take_one() noexcept
    {
        if (k_ == n_ / block_elements) to = tail_;
        unsigned code = view_.codes.of[k_++];
        if (code == raw_code) {
            std::memcpy(to, planes, sizeof tail_);
            planes += sizeof tail_;
            return;
        }
        a_ = class_plane(planes, code, 0);
        b_ = class_plane(planes, code, 1);
        skip_class(planes, code);
        width_ = static_cast<u8>(code);
        widths = &width_;
        blocks = 1;
    }

    const chunk_view& view_;
    block_source from_;
    T* const x_;
    const std::size_t n_, plain_;
    std::size_t k_ = 0;
    u32 a_ = 0, b_ = 0;  // class planes of the one block of the run
    u8 width_ = 0;
    T tail_[block_elements];
};

CCOLL_EXACT_BEGIN
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC optimize("align-loops=32")  // else f64 is encoded at 6 or at 8 GB/s, by where its loop happens to begin
#endif

namespace portable {

#define CCOLL_SZP_TARGET
#if defined(__GNUC__)
#define CCOLL_SZP_INLINE inline __attribute__((always_inline))
#else
#define CCOLL_SZP_INLINE inline
#endif

using running = i32;
struct quanta {
    i32* values;  // of this block; values[-1] is for the one before them
    i32 store[block_elements + 1];

    /// Where they go if they are not elsewhere.
    CCOLL_SZP_INLINE i32* own() noexcept
    {
        store[0] = 0;
        return values = store + 1;
    }
};
struct differences {
    i32 of[block_elements];
};
template <class T>
struct magnitudes {
    typename fields_of<T>::word most;
};

CCOLL_SZP_INLINE void start(running& r, i32 base) noexcept { r = base; }
CCOLL_SZP_INLINE i32 last_of(running r) noexcept { return r; }

template <class T>
CCOLL_SZP_INLINE void clear(magnitudes<T>& m) noexcept
{
    m.most = 0;
}
template <class T>
CCOLL_SZP_INLINE void merge(magnitudes<T>& into, const magnitudes<T>& m) noexcept
{
    into.most = std::max(into.most, m.most);
}
template <class T>
CCOLL_SZP_INLINE auto top(const magnitudes<T>& m) noexcept
{
    return m.most;
}
template <class T>
CCOLL_SZP_INLINE bool over(const magnitudes<T>& m, typename fields_of<T>::word limit) noexcept
{
    return m.most >= limit;
}
template <class T>
CCOLL_SZP_INLINE void largest_of(const T* x, magnitudes<T>& m) noexcept
{
    using fields = fields_of<T>;
    typename fields::signed_word most = 0;
    for (std::size_t i = 0; i < block_elements; ++i) {
        const auto w = fields::signed_magnitude(x[i]);
        most = w > most ? w : most;
    }
    m.most = static_cast<typename fields::word>(most);
}

/// Rounds to the nearest integer, ties to even, by an addition: the low bits of the sum are the integer, modulo 2^32.
template <class T>
inline constexpr T rounder = is_f32<T> ? T(12582912.0) : T(6755399441055744.0);  // 1.5 * 2^mantissa_bits

/// Denormals count as 0 in any bound that is usable, whether the environment flushes them or not.
template <class T>
CCOLL_SZP_INLINE void quantise(const T* x, T inverse, i32* q) noexcept
{
    CCOLL_EXACT_BODY
    using fields = fields_of<T>;
    for (std::size_t i = 0; i < block_elements; ++i) {
        const T t = x[i] * inverse + rounder<T>;
        q[i] = static_cast<i32>(static_cast<u32>(fields::of(t)) - static_cast<u32>(fields::of(rounder<T>)));
    }
}

/// Differences read the quanta at an offset of one, and a load that overlaps two stores which are still under way waits for them:
/// quantising 16 blocks ahead doubles the speed of encoding.
template <class T>
struct look_ahead {
    static constexpr std::size_t batch = 16, lead = 4;
    alignas(16) i32 values[lead + batch * block_elements];  // those of a batch, and at lead - 1 the one before them
    typename fields_of<T>::word most[batch];

    CCOLL_SZP_INLINE void quantise(const T* x, std::size_t n, std::size_t k, const T* block, const quantiser<T>& z, quanta& q, magnitudes<T>& m) noexcept
    {
        if (k % batch == 0) {
            values[lead - 1] = k > 0 ? values[lead + batch * block_elements - 1] : 0;
            for (std::size_t j = 0; j < batch && block_elements * (k + j + 1) <= n; ++j) {
                const T* const next = x + block_elements * (k + j);
                magnitudes<T> largest;
                largest_of(next, largest);
                most[j] = largest.most;
                portable::quantise(next, z.inverse, values + lead + block_elements * j);
            }
        }
        if (block_elements * (k + 1) <= n) {
            q.values = values + lead + block_elements * (k % batch);
            m.most = most[k % batch];
        } else {
            largest_of(block, m);
            portable::quantise(block, z.inverse, q.own());
        }
    }
};

CCOLL_SZP_INLINE void quantise_f64(const float* x, double inverse, quanta& q) noexcept
{
    CCOLL_EXACT_BODY
    i32* const to = q.own();
    for (std::size_t i = 0; i < block_elements; ++i) {
        const double t = static_cast<double>(x[i]) * inverse + rounder<double>;
        to[i] = static_cast<i32>(static_cast<u32>(std::bit_cast<u64>(t)) - static_cast<u32>(std::bit_cast<u64>(rounder<double>)));
    }
}
CCOLL_SZP_INLINE void replace_from(const float* x, u32 limit, const quanta& with, quanta& q) noexcept
{
    const i32* const from = q.values;
    i32* const to = q.own();
    for (std::size_t i = 0; i < block_elements; ++i) to[i] = fields_of<float>::magnitude(x[i]) < limit ? from[i] : with.values[i];
}
CCOLL_SZP_INLINE void load(const i32* values, quanta& q) noexcept
{
    std::memcpy(q.own(), values, sizeof(i32) * block_elements);
}

CCOLL_SZP_INLINE i32 minus(i32 a, i32 b) noexcept { return static_cast<i32>(static_cast<u32>(a) - static_cast<u32>(b)); }
CCOLL_SZP_INLINE void difference(quanta& q, running& r, differences& d) noexcept
{
    if (q.values[-1] != r) q.values[-1] = r;  // rare: the loads after such a store wait for it
    for (std::size_t i = 0; i < block_elements; ++i) d.of[i] = minus(q.values[i], q.values[static_cast<std::ptrdiff_t>(i) - 1]);
    r = q.values[block_elements - 1];
}

CCOLL_SZP_INLINE void alone(const quanta& q, differences& d) noexcept { std::memcpy(d.of, q.values, sizeof d.of); }
CCOLL_SZP_INLINE u32 sum_of_magnitudes(const differences& d) noexcept
{
    i32 sum = 0;
    for (const i32 v : d.of) sum += v < 0 ? -v : v;
    return static_cast<u32>(sum);
}

CCOLL_SZP_INLINE void swap_bits(u64& a, u64& b, int shift, u64 mask) noexcept
{
    const u64 t = ((a >> shift) ^ b) & mask;
    b ^= t;
    a ^= t << shift;
}
/// 8x8 bit transposes between 8 words, in each of their 4 bytes; word j in the low half of v[j % 4], word j + 4 in the high one.
CCOLL_SZP_INLINE void transpose(u64 v[4]) noexcept
{
    swap_bits(v[0], v[1], 1, 0x5555555555555555u);
    swap_bits(v[2], v[3], 1, 0x5555555555555555u);
    swap_bits(v[0], v[2], 2, 0x3333333333333333u);
    swap_bits(v[1], v[3], 2, 0x3333333333333333u);
    for (int j = 0; j < 4; ++j) {
        const u64 t = (v[j] ^ (v[j] >> 28)) & 0x00000000F0F0F0F0u;
        v[j] ^= t ^ (t << 28);
    }
}
/// Between four groups of 8 bytes and 8 words that have a byte of each: transposes of 4x4 bytes in either half.
CCOLL_SZP_INLINE void transpose_bytes(u64 v[4]) noexcept
{
    swap_bits(v[0], v[1], 8, 0x00FF00FF00FF00FFu);
    swap_bits(v[2], v[3], 8, 0x00FF00FF00FF00FFu);
    swap_bits(v[0], v[2], 16, 0x0000FFFF0000FFFFu);
    swap_bits(v[1], v[3], 16, 0x0000FFFF0000FFFFu);
}

/// Planes shift .. shift + 7 of 32 words.
CCOLL_SZP_INLINE void put_8_planes(const i32* d, int shift, u8* out) noexcept
{
    u8 bytes[block_elements];
    for (std::size_t i = 0; i < block_elements; ++i) bytes[i] = static_cast<u8>(static_cast<u32>(d[i]) >> shift);
    u64 v[4];
    std::memcpy(v, bytes, sizeof v);
    transpose_bytes(v);
    transpose(v);
    for (std::size_t j = 0; j < 4; ++j) {
        put(out + 4 * j, static_cast<u32>(v[j]));
        put(out + 4 * j + 16, static_cast<u32>(v[j] >> 32));
    }
}
/// Planes 8 and up; as with get_many_planes.
[[gnu::noinline]] inline void put_more_planes(const i32* d, unsigned width, u8* out) noexcept
{
    for (unsigned at = 8; at < width; at += 8) put_8_planes(d, static_cast<int>(at), out + 4 * at);
}
CCOLL_SZP_INLINE unsigned put_planes(const differences& d, bool /*brief*/, u8* out) noexcept
{
    u32 folded = 0, negative = 0;
    for (const i32 v : d.of) {
        folded |= static_cast<u32>(v ^ (v >> 31));
        negative |= static_cast<u32>(v);
    }
    const unsigned width = folded != 0 ? 33u - static_cast<unsigned>(std::countl_zero(folded)) : negative >> 31;
    if (width > 0) put_8_planes(d.of, 0, out);
    if (width > 8) put_more_planes(d.of, width, out);
    return width;
}

/// 8 planes to bytes: value 8 g + j in byte g of b[j]. Planes from `width` on repeat the sign plane.
CCOLL_SZP_INLINE void get_8_planes(const u8* in, unsigned width, u32 b[8]) noexcept
{
    u64 v[4];
    const auto plane = [&](unsigned k) { return get<u32>(in + 4 * (k < width ? k : width - 1)); };
    for (unsigned j = 0; j < 4; ++j) v[j] = plane(j) | u64{plane(j + 4)} << 32;
    transpose(v);
    for (unsigned j = 0; j < 4; ++j) {
        b[j] = static_cast<u32>(v[j]);
        b[j + 4] = static_cast<u32>(v[j] >> 32);
    }
}
/// @param width  1..8; all, if there are more than 8 planes
CCOLL_SZP_INLINE void get_first_planes(const u8* in, unsigned width, i32* d) noexcept
{
    u32 b[8];
    get_8_planes(in, width, b);
    for (std::size_t j = 0; j < 8; ++j)
        for (std::size_t g = 0; g < 4; ++g) d[8 * g + j] = static_cast<i32>(b[j] << (24 - 8 * g)) >> 24;
}
/// @param width  9..32. Not inlined: there would be five copies to compile.
[[gnu::noinline]] inline void get_many_planes(const u8* in, unsigned width, i32* d) noexcept
{
    get_first_planes(in, width, d);
    for (unsigned at = 8; at < width; at += 8) {
        u32 b[8];
        get_8_planes(in + 4 * at, width - at, b);
        for (std::size_t j = 0; j < 8; ++j)
            for (std::size_t g = 0; g < 4; ++g) {
                const u32 low = static_cast<u32>(d[8 * g + j]) & ((u32{1} << at) - 1);
                d[8 * g + j] = static_cast<i32>(low | static_cast<u32>(static_cast<i32>(b[j] << (24 - 8 * g)) >> 24) << at);
            }
    }
}
/// @param width  1..32
CCOLL_SZP_INLINE void get_planes(const u8* in, unsigned width, i32* d) noexcept
{
    if (width <= 8) get_first_planes(in, width, d);
    else get_many_planes(in, width, d);
}
CCOLL_SZP_INLINE void get_planes(const u8* in, unsigned width, differences& d) noexcept { get_planes(in, width, d.of); }
template <class T>
CCOLL_SZP_INLINE void dequantise(const differences& d, T step, T* x) noexcept
{
    CCOLL_EXACT_BODY
    for (std::size_t i = 0; i < block_elements; ++i) x[i] = static_cast<T>(d.of[i]) * step;
}

/// The running sum stays in a register and its conversion inside the loop: in an array it would be read before it is there.
template <class T>
CCOLL_SZP_INLINE void restore(const u8* in, unsigned width, running& r, T step, T* x) noexcept
{
    CCOLL_EXACT_BODY
    if (width == 0) {
        const T value = static_cast<T>(r) * step;
        for (std::size_t i = 0; i < block_elements; ++i) x[i] = value;
        return;
    }
    i32 d[block_elements];
    get_planes(in, width, d);
    u32 sum = static_cast<u32>(r);
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC unroll 8
#endif
    for (std::size_t i = 0; i < block_elements; ++i) {
        sum += static_cast<u32>(d[i]);
        x[i] = static_cast<T>(static_cast<i32>(sum)) * step;
    }
    r = static_cast<i32>(sum);
}

/// 1 to Planes - 1 planes and the sign behind them, by whole registers: choosing it plane by plane takes as long as adding.
template <std::size_t Planes>
struct extended_planes {
    u32 of[2 * Planes];

    CCOLL_SZP_INLINE extended_planes(const u8* in, unsigned width) noexcept
    {
        const u32 sign = get<u32>(in + 4 * (width - 1));
        std::memcpy(of, in, 4 * Planes);
        for (std::size_t k = 0; k < Planes; ++k) of[width + k] = sign;
    }
};
/// Widths from 8 on: 8 planes and then some. Most blocks have one or two more, so that the end of the loop is foreseen.
[[gnu::noinline]] inline unsigned add_wide_blocks(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* out) noexcept
{
    if ((wa | wb) > 15) return add_planes(a, wa, b, wb, out);
    const extended_planes<16> x(a, wa), y(b, wb);
    u32 sum = 0, carry = 0;
    unsigned last = 0;  // plane that differs from the one below it
    const auto add = [&](unsigned k) {
        const u32 differ = x.of[k] ^ y.of[k], below = sum;
        sum = differ ^ carry;
        carry = (x.of[k] & y.of[k]) | (carry & differ);
        put(out + 4 * k, sum);
        last = k > 0 && sum != below ? k : last;
    };
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC unroll 8
#endif
    for (unsigned k = 0; k < 8; ++k) add(k);
    for (unsigned k = 8; k <= std::max(wa, wb); ++k) add(k);
    return last > 0 ? last + 1 : sum != 0;
}
/// The adder of add_planes, without a loop for widths up to 7: its exits would be mispredicted.
CCOLL_SZP_INLINE unsigned add_blocks(const u8* a, unsigned wa, const u8* b, unsigned wb, u8* out) noexcept
{
    if ((wa == 0 || wb == 0) && (wa | wb) <= 16) {  // a longer one is copied by add_planes
        std::memcpy(out, wa == 0 ? b : a, 64);
        return wa | wb;
    }
    if ((wa | wb) > 7) return add_wide_blocks(a, wa, b, wb, out);
    const extended_planes<8> x(a, wa), y(b, wb);
    u32 sum[8], carry = 0;
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC unroll 8
#endif
    for (std::size_t k = 0; k < 8; ++k) {
        const u32 differ = x.of[k] ^ y.of[k];
        sum[k] = differ ^ carry;
        carry = (x.of[k] & y.of[k]) | (carry & differ);
        put(out + 4 * k, sum[k]);
    }
    unsigned width = sum[7] != 0;
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#pragma GCC unroll 8
#endif
    for (unsigned k = 0; k < 7; ++k) width = sum[k] != sum[7] ? k + 2 : width;
    return width;
}

inline constexpr bool streams = false;
template <class T>
struct lines_of;

#include <ccoll/codec/szp_loops.inl>
#include <ccoll/codec/szp_survey.inl>

#undef CCOLL_SZP_INLINE
#undef CCOLL_SZP_TARGET

}  // namespace portable

CCOLL_EXACT_END

}  // namespace ccoll::detail::szp
