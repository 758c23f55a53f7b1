// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/blocks.hpp - floor 2. What the kernels of all instruction sets are given and give back, and the blocks of a chunk as decoders
// see them: those that have classes or are not whole are dealt with here.
#pragma once

#include <algorithm>
#include <cstring>

#include <ccoll/base/config.hpp>
#include <ccoll/base/error.hpp>
#include <ccoll/base/memory.hpp>
#include <ccoll/base/stores.hpp>
#include <ccoll/codec/specials/layer.hpp>
#include <ccoll/codec/specials/layout.hpp>
#include <ccoll/codec/szp/quantiser.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// What encoding does with a block that its grid does not hold.
enum class beyond_safe {
    stop,   ///< report `unsupported`: the caller takes out special values, or looks for a grid of the chunk's own
    fine,   ///< the same; blocks are quantised in double, on the step of the chunk (f32)
    addend  ///< quantise in double, keep Inf and NaN in class planes; beyond 2^30 steps report `unsupported`
};

/// What stands before the first value of a chunk.
struct predictor {
    i32 quantum = 0;
    bool none = false;  ///< differences are the quanta themselves
};

struct encoded_blocks {
    u8* end = nullptr;  ///< of the blocks; their beginning, if all differences are 0
    u32 largest = 0;    ///< >= every |q|
    u32 escaped = 0;
    status code = status::ok;
};

/// Do differences of such quanta fit 16 bits?
constexpr bool is_brief(i32 quantum) noexcept { return quantum > -(1 << 13) && quantum < 1 << 13; }

/// The blocks of a chunk by which noise is told: in its first 8 KiB, which the chunk before has prefetched.
inline constexpr std::size_t noise_samples = 8;
template <element T>
inline constexpr std::size_t most_sampled = 8192 / (sizeof(T) * block_elements);
/// @param blocks  min(whole blocks of the chunk, most_sampled)
constexpr std::size_t noise_sample(std::size_t blocks, std::size_t i) noexcept
{
    return blocks * (2 * (5 * i % noise_samples) + 1) / (2 * noise_samples);
}

/// What an encoder has taken out of a chunk on its way.
template <element T>
struct taken_out {
    specials::places gone;            ///< no values: nothing else here means anything
    specials::layer_front layer;      ///< of these
    typename fields_of<T>::word one;  ///< bits of the first special value
    bool equal;                       ///< all special values are that one
    bool guessed = false;             ///< it may be a marker: values that a grid of the chunk's own would hold
    /// Not 0, for an addend: the bits of the least |x| that is a fill value. All special values must be the same one then.
    typename fields_of<T>::word least_fill = 0;
    i32 base;                ///< the quantum before the first one
    T copy[chunk_elements];  ///< the blocks that have special values, with bridges in their places. Other blocks are not in it
};

/// How quanta of 64 bits are found: rint(x inverse), and for |x| from `direct` on this corrected by its exact remainder.
struct grid_64 {
    double step, inverse;
    double direct;  ///< 0: always
    double limit;   ///< no value is as large
};
inline constexpr unsigned no_width_64 = 255;

/// The memory that an encoder needs where a block begins: for the block, and for what kernels write behind it.
inline constexpr std::size_t block_room = longest_block + slack;

/// Where the blocks of a chunk go on when less than block_room is left in front of its end. The finished chunk may still be shorter than
/// its elements, because the blocks to come may be short; whether it is must not depend on how much memory an encoder wants.
class overhang {
public:
    /// Once per chunk.
    /// @param p     the next block, behind `last`: moves to memory of this object    @return  `last` there
    const u8* take_over(u8*& p, const u8* last) noexcept
    {
        from_ = p;
        end_ = last + block_room;
        p = room_;
        return room_ + block_room;
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
/// The same without a branch. @return the width
inline unsigned width_behind_classes(const u8*& block, unsigned code) noexcept
{
    block += code / class_code * 8;
    return code % class_code;
}

/// Kernels read whole registers: up to `reach` bytes from the beginning of a block. Blocks near the end are read from a copy.
class block_source {
public:
    explicit block_source(const chunk_view& view) noexcept
        : end_(view.blocks + view.blocks_bytes), turn_(view.blocks_bytes > reach ? end_ - reach : view.blocks)
    {}
    /// `p`, or where its bytes are in the copy.
    const u8* readable(const u8* p) noexcept
    {
        if (p < turn_ || turned_) [[likely]]
            return p;
        turned_ = true;
        const auto bytes = static_cast<std::size_t>(end_ - p);
        std::memcpy(copy_, p, bytes);
        std::memset(copy_ + bytes, 0, sizeof copy_ - bytes);
        return copy_;
    }

    /// The number of blocks at the front for which `readable` is not needed.
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
        return code >= class_code ? 8 + 4 * std::size_t{code - class_code} : 4 * std::size_t{code};
    }

    const u8 *end_, *turn_;
    bool turned_ = false;
    u8 copy_[2 * reach];
};

/// The blocks of a chunk in runs that a decoder can restore without any special case. A block that is not whole is dealt with here. Class
/// planes are stepped over by width_behind_classes(); what they say comes last (put_classes in szp/classes.inl).
///
///     for (block_runs<T> runs(view, x, n); runs.next();) runs.planes = <restore runs.blocks blocks from runs.planes to runs.to>;
template <class T>
class block_runs {
public:
    block_runs(const chunk_view& view, T* x, std::size_t n) noexcept
        : planes(view.blocks), view_(view), from_(view), x_(x), n_(n), plain_(block_source::plain_blocks(view))
    {}

    const u8* planes;
    const u8* codes = nullptr;
    std::size_t blocks = 0;
    T* to = nullptr;

    /// @return whether there is another run, which may have no blocks
    [[gnu::noinline]] bool next() noexcept
    {
        if (to == tail_) std::memcpy(x_ + block_elements * (n_ / block_elements), tail_, n_ % block_elements * sizeof(T));
        if (k_ == view_.count) return false;

        planes = from_.readable(planes);
        codes = view_.codes.of + k_;
        const std::size_t whole = n_ / block_elements, end = std::min(k_ < plain_ ? plain_ : view_.count, whole);
        to = k_ == whole ? tail_ : x_ + block_elements * k_;
        blocks = k_ == whole ? 1 : end - k_;
        k_ += blocks;
        return true;
    }

private:
    const chunk_view& view_;
    block_source from_;
    T* const x_;
    const std::size_t n_, plain_;
    std::size_t k_ = 0;
    T tail_[block_elements];
};

}  // namespace ccoll::detail::szp
