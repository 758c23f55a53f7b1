// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/movement.hpp - floor 2. Chunks of SZp in frames for movement: the choice of a grid, and the values that are taken out before.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include <ccoll/codec/specials.hpp>
#include <ccoll/codec/szp/constant.hpp>
#include <ccoll/codec/szp/guess.hpp>
#include <ccoll/codec/szp/kept.hpp>
#include <ccoll/codec/szp/kernels.hpp>
#include <ccoll/codec/szp/marker.hpp>
#include <ccoll/codec/szp/quanta64.hpp>
#include <ccoll/codec/szp/rows.hpp>
#include <ccoll/codec/szp/writing.hpp>

namespace ccoll::inline CCOLL_ABI::detail::szp {

/// Encodes one chunk. Every choice depends on the values alone (docs/wire_format.md).
///
/// - The common grid if all values fit it, else the coarsest of the others.
/// - Values that fit no grid are special: the chunk is encoded without them, and they stand exactly in a section behind it.
/// - Where the ulp of many values is above any step that is within the bound, a power of two is tried as a step. It keeps them exactly.
/// - A value that occurs again and again, and stands alone at one side of the steepest jump, is a marker (-9999). It becomes special if the
///   chunk is shorter without it.
/// - If the caller knows the shape of the field, values are predicted from the row before as well, and from the plane before
///   (szp/rows.hpp), where a few blocks say that it pays. Chunks with special values, which are bridged for that, and those on a fine grid
///   are made in both ways, and the shorter one is taken.
/// - What all this hardly shortens is kept exactly (szp/kept.hpp) if that is shorter.
/// Most chunks are encoded in one pass. Those with markers, or with values that need a grid of their own, take two or three, and one more
/// if rows pay.
template <element T>
class movement {
public:
    /// @param in    must stay; the same values until encode() has returned
    /// @param keep  may the chunk be kept exactly? Not if a caller wants quanta
    /// @param above  where rows and planes of the field are, if the caller knows that
    movement(std::span<const T> in, const quantiser<T>& z, bool keep, rows::distances above) noexcept
        : in_(in), z_(z), keep_(keep), above_(above)
    {}

    /// @param out   `room` bytes, which the choices depend on if they are fewer than those of the values
    /// @return      code out_of_space: the chunk needs more, or as much as its values
    encode_result encode(u8* out, std::size_t room) const noexcept
    {
        if (room < most_chunk_bytes<T>(1)) return {0, status::out_of_space};
        if (is_constant(in_))
            if (const encode_result r = constant(out); r.code == status::ok) return r;
        taken_out<T> apart;
        if (!above_.none())
            if (const attempt a = with_rows(out, room);
                is_shorter(a) &&
                (a.steep == nowhere || find_marker(in_.data(), in_.size(), a.steep, apart.gone) == specials::rule<T>::nothing))
                return a.result;
        attempt first = common(sequence(in_), out, room, &apart);
        if (apart.gone.values > 0) [[unlikely]]
            first = apart.guessed ? with_marker(first, apart, out, room) : with_section(first, apart, out, room);
        if (is_shorter(first) && !is_section_long(out, apart) &&
            (first.steep == nowhere ||
             find_marker(values_around(first.steep, apart), in_.size(), first.steep, apart.gone) == specials::rule<T>::nothing))
            return above_.none() || apart.gone.values == 0 ? first.result : bridged_in_rows(first, apart, out, room);
        return unusual(first, apart, out, room);
    }

private:
    using word = typename fields_of<T>::word;
    static constexpr std::size_t nowhere = ~std::size_t{0};
    /// A block is steep if its code is so much above the lowest: what a marker among other values does.
    static constexpr unsigned steepness = 4;

    struct attempt {
        encode_result result;
        std::size_t steep = nowhere;  ///< the first of the widest blocks, if that is steep
    };

    /// What common() makes of values that are all equal, without looking at each. @return unsupported: its grids do not hold them
    encode_result constant(u8* out) const noexcept
    {
        CCOLL_EXACT_BODY
        const T value = in_[0];
        if (fields_of<T>::magnitude(value) >= z_.safe) return {0, status::unsupported};
        if constexpr (is_f32<T>)
            if (const fine_grid<T> grid = find_lattice(&value, 1, z_.step); grid.step > 0) {
                const std::size_t codes = head_bytes(kind::fine, sizeof(T)), bytes = codes + width_bytes(blocks_of(in_.size()), true);
                chunk_head head(kind::fine, 0);
                head.packed = true;
                put(out, head.word());
                put(out + 4, static_cast<i32>(std::nearbyint(static_cast<double>(value) * (1 / static_cast<double>(grid.step)))));
                put(out + 4 + sizeof(T), grid.step);
                std::memset(out + codes, 0, bytes - codes);
                return {bytes};
            }
        return encode_flat(value, z_, out);
    }

    bool is_shorter(const attempt& a) const noexcept { return a.result.code == status::ok && a.result.bytes < in_.size_bytes(); }

    /// The values of a chunk, or a copy of them in which special values have been replaced.
    struct sequence {
        const T* values;
        std::size_t size;
        T* copy = nullptr;
        const specials::places* gone = nullptr;

        explicit sequence(std::span<const T> all) noexcept : values(all.data()), size(all.size()) {}
        /// Special values are 0 at first: they add nothing to what lattice and noise are judged by.
        sequence(T* copied, std::size_t n, const specials::places& at) noexcept : values(copied), size(n), copy(copied), gone(&at) {}
        /// From now on they cost few bits as differences.
        void bridge() const noexcept
        {
            if (gone != nullptr) specials::bridge(copy, size, *gone);
        }
    };

    /// Values of f32 on a lattice that is coarser than the common grid, or the common grid. @return unsupported: neither holds them
    /// @param apart  if not null, the special values of an ordinary chunk are taken out on the way
    attempt common(const sequence& x, u8* out, std::size_t room, taken_out<T>* apart = nullptr) const noexcept
    {
        if constexpr (is_f32<T>) {  // not f64, which is slower on a lattice, and only shorter
            if (find_lattice(x.values, std::min(x.size, block_elements), z_.step).step > 0) {
                if (const fine_grid<T> all = find_lattice(x.values, x.size, z_.step); all.step > 0) return on_grid(x, all, out, room);
                // There may be a lattice without the special values. An encoder looks for it if the first block has some.
                const auto is_beyond = [&](T value) { return fields_of<T>::magnitude(value) >= z_.safe; };
                if (std::none_of(x.values, x.values + std::min(x.size, block_elements), is_beyond)) apart = nullptr;
            }
        }
        block_codes codes;
        u8* const blocks = blocks_at<T>(out, kind::narrow, x.size);
        const bool alone = noise_detectors<T>.in_use()(x.values, x.size, z_);
        if (!alone) x.bridge();
        const predictor before{alone ? 0 : narrow_base_of(x.values[0], z_), alone};
        if (alone) apart = nullptr;
        if (apart != nullptr) apart->base = before.quantum;
        const encoded_blocks r =
            encoders<T>.in_use()(x.values, x.size, z_, beyond_safe::stop, before, blocks, last_begin(out, room), codes.of, apart);
        if (r.code != status::ok) return {{0, r.code}};
        put(out + 4, apart != nullptr ? apart->base : before.quantum);
        put(out + 8, r.largest);
        chunk_head head(kind::narrow, 0);
        head.alone = alone;
        return end_of(head, blocks, r.end, codes, x.size, out, room);
    }
    /// Predicted from the row before as well, on the grid that common() takes. @return unsupported: that does not pay, or there are values
    /// that need another grid
    [[gnu::noinline]] attempt with_rows(u8* out, std::size_t room) const noexcept
    {
        return in_rows(in_.data(), common_lattice(), out, room);
    }
    /// The lattice that common() takes for all values; 0: it takes the common grid.
    T common_lattice() const noexcept
    {
        if constexpr (is_f32<T>)
            if (find_lattice(in_.data(), std::min(in_.size(), block_elements), z_.step).step > 0)
                return find_lattice(in_.data(), in_.size(), z_.step).step;
        return 0;
    }
    /// @param x     as many values as the chunk has
    /// @param step  of a grid of the chunk's own (f32); 0: the common grid
    attempt in_rows(const T* x, T step, u8* out, std::size_t room) const noexcept
    {
        CCOLL_EXACT_BODY
        const std::size_t n = in_.size();
        const attempt no{{0, status::unsupported}};
        const quantiser<T> z = step > 0 ? z_.of_rows_on(step) : z_.of_rows(false);
        const rows::distances chosen = rows::judges<T>.in_use()(x, n, above_, z);
        if (chosen.none()) return no;
        const kind what = step > 0 ? kind::fine_rows : kind::rows;
        block_codes codes;
        u8* const blocks = blocks_at<T>(out, what, n);
        const encoded_blocks all = rows::encoders<T>.in_use()(x, n, chosen, z, blocks, last_begin(out, room), codes.of);
        if (all.code != status::ok || all.end == blocks) return no;
        put(out + 4, z.quantum_in_rows(x[0]));
        put(out + 8, all.largest);
        put(out + 12, chosen.word());
        if (step > 0) put(out + 16, step);
        return end_of(chunk_head(what, 0), blocks, all.end, codes, n, out, room);
    }
    /// A chunk as it is, or with rows on the same grid, if it is shorter with them.
    /// @param x      the values that quanta stand for: those of the chunk, and bridges in the places of special values
    /// @param other  `room` bytes
    attempt or_in_rows(attempt a, const T* x, u8* out, u8* other, std::size_t room) const noexcept
    {
        const T step = own_step(out);
        if (chunk_head(get<u32>(out)).what != kind::narrow && step == 0) return a;
        const std::size_t in_section = section_bytes(out), plain = a.result.bytes - in_section;
        const encode_result shorter = in_rows(x, step, other, room).result;
        if (shorter.code != status::ok || shorter.bytes >= plain) return a;
        u8* const section = out + shorter.bytes;
        std::memmove(section, out + plain, in_section);
        std::memcpy(out, other, shorter.bytes);
        a.result.bytes = shorter.bytes;
        return behind(a, section, section + in_section, out);
    }
    /// Of a fine chunk of f32; 0: it is not one
    static T own_step(const u8* chunk) noexcept
    {
        if constexpr (is_f32<T>)
            if (chunk_head(get<u32>(chunk)).what == kind::fine) return get<T>(chunk + 8);
        return 0;
    }
    /// The same for a chunk whose special values common() has taken out.
    [[gnu::noinline]] encode_result bridged_in_rows(const attempt& a, taken_out<T>& apart, u8* out, std::size_t room) const noexcept
    {
        u8 other[most_chunk_bytes<T>(chunk_elements)];
        for (std::size_t k = 0; k < apart.gone.blocks; ++k)
            if (apart.gone.masks[k] == 0) copy_block(k, apart);
        return or_in_rows(a, apart.copy, out, other, std::min(room, sizeof other)).result;
    }
    /// On a grid of the chunk's own. @return unsupported: there is none
    /// @param most  bits of the largest |x|
    attempt fine(const sequence& x, word most, const fine_grid<T>& lattice, u8* out, std::size_t room) const noexcept
    {
        const fine_grid<T> own = fine_grid_for(most, z_);
        const fine_grid<T>& best = lattice.step > own.step ? lattice : own;
        return best.step > 0 ? on_grid(x, best, out, room) : attempt{{0, status::unsupported}};
    }
    attempt on_grid(const sequence& x, const fine_grid<T>& grid, u8* out, std::size_t room) const noexcept
    {
        x.bridge();
        const quantiser<T> z = z_.on(grid.step, grid.limit);
        block_codes codes;
        u8* const blocks = blocks_at<T>(out, kind::fine, x.size);
        put(out + 4 + sizeof(T), grid.step);
        if constexpr (is_f32<T>) {
            const i32 base = static_cast<i32>(std::nearbyint(static_cast<double>(x.values[0]) * z.inverse_f64));
            const encoded_blocks r = encoders<T>.in_use()(x.values, x.size, z, beyond_safe::fine, predictor{base}, blocks,
                                                          last_begin(out, room), codes.of, nullptr);
            if (r.code != status::ok) return {{0, r.code}};
            put(out + 4, base);
            return end_of(chunk_head(kind::fine, 0), blocks, r.end, codes, x.size, out, room);
        } else {
            const i64 base = nearest_quantum(x.values[0], z.step, z.inverse_f64);
            const quanta64::encoded r = quanta64::encode_blocks(x.values, x.size, z, false, base, blocks, last_begin(out, room), codes.of);
            if (r.code != status::ok) return {{0, r.code}};
            put(out + 4, base);
            return end_of(chunk_head(kind::fine, 0), blocks, r.end, codes, x.size, out, room);
        }
    }
    /// Codes and head. Room was left for packed codes.
    static attempt end_of(chunk_head head, const u8* blocks, u8* end, const block_codes& codes, std::size_t n, u8* out,
                          std::size_t room) noexcept
    {
        const std::size_t count = blocks_of(n), more = width_bytes(count, false) - width_bytes(count, true);
        const code_range range = range_of(codes.of, count);
        if (static_cast<std::size_t>(end - out) + (packs(range.lowest, range.highest) ? 0 : more) > room) [[unlikely]]
            return {{0, status::out_of_space}};
        const bool is_steep = range.highest >= range.lowest + steepness;
        const auto* const first_widest = is_steep ? std::find(codes.of, codes.of + count, range.highest) : codes.of;
        return {finish<T>(out, false, head, blocks, end, codes, range, n),
                is_steep ? static_cast<std::size_t>(first_widest - codes.of) : nowhere};
    }

    /// Puts the values that common() has taken out behind the chunk.
    /// @return unsupported, and nothing is taken out: it must be done in another way
    [[gnu::noinline]] attempt with_section(attempt a, taken_out<T>& apart, u8* out, std::size_t room) const noexcept
    {
        const specials::places& gone = apart.gone;
        const bool all_far = apart.equal && (apart.one & ~fields_of<T>::sign) >= far_limit(z_);
        u8 *const section = out + a.result.bytes, *end = nullptr;
        if (a.result.code == status::ok && (gone.values <= in_.size() / many || all_far || !some_are_nearer(gone, fine_limit(z_)))) {
            if (apart.equal && gone.values >= specials::least_equal)
                end = apart.layer.put_equal(gone.blocks, apart.one, section, out + room);
            else end = specials::write(in_.data(), in_.size(), gone, section, out + room);
        }
        if (end == nullptr) {
            apart.gone.values = 0;
            return {{0, status::unsupported}};
        }
        a.result.special_values = gone.values;
        return behind(a, section, end, out);
    }
    /// The same if these are all one marker that common() has guessed. Only where unusual() is certain to take it out.
    [[gnu::noinline]] attempt with_marker(attempt a, taken_out<T>& apart, u8* out, std::size_t room) const noexcept
    {
        if constexpr (is_f32<T>)
            if (a.result.code == status::ok && apart.gone.values >= specials::least_equal) {
                u8* const section = out + a.result.bytes;
                const u8* const end = apart.layer.put_equal(apart.gone.blocks, apart.one, section, out + room);
                if (end != nullptr) {
                    a.result.special_values = apart.gone.values;
                    a = behind(a, section, end, out);
                    const std::size_t steep =
                        guess::steepest_block(in_.data(), in_.size(), z_, apart.gone, apart.one, out, a.result.bytes, steepness);
                    if (steep != guess::not_certain && find_marker(in_.data(), in_.size(), steep, specials::places{}) == apart.one)
                        return a;
                }
            }
        apart.gone.values = 0;
        apart.guessed = false;
        return {{0, status::unsupported}};
    }
    /// With a section of special values.
    static attempt behind(attempt a, const u8* section, const u8* end, u8* out) noexcept
    {
        put(out, get<u32>(out) | static_cast<u32>(end - section) / 4 << 12);
        a.result.bytes += static_cast<std::size_t>(end - section);
        return a;
    }
    bool is_section_long(const u8* out, const taken_out<T>& apart) const noexcept
    {
        return apart.gone.values > 0 && keep_ && section_bytes(out) > in_.size_bytes() / many;
    }
    /// The values of block k and of those beside it, special ones as they were replaced.
    /// @return where the chunk would begin
    const T* values_around(std::size_t k, taken_out<T>& apart) const noexcept
    {
        if (apart.gone.values == 0) return in_.data();
        const std::size_t end = std::min(k + 2, apart.gone.blocks);
        for (std::size_t j = k > 0 ? k - 1 : 0; j < end; ++j)
            if (apart.gone.masks[j] == 0) copy_block(j, apart);
        return apart.copy;
    }
    void copy_block(std::size_t k, taken_out<T>& apart) const noexcept
    {
        const std::size_t at = block_elements * k;
        std::memcpy(apart.copy + at, in_.data() + at, std::min(block_elements, in_.size() - at) * sizeof(T));
    }

    /// The chunk without the values that a rule finds, and these behind it.
    /// @param copy  room for the values, which gets those that were encoded if any were found
    attempt without(specials::rule<T> rule, T* copy, specials::places& gone, u8* out, std::size_t room) const noexcept
    {
        word most = ~word{0};
        if (!rule.has_markers()) most = largest_magnitudes<T>.in_use()(in_.data(), in_.size());
        gone.values = 0;
        if (most >= rule.limit) specials::split(in_.data(), in_.size(), rule, gone, copy);
        const sequence x = gone.values == 0 ? sequence(in_) : sequence(copy, in_.size(), gone);
        attempt a{{0, status::unsupported}};
        const fine_grid<T> lattice = find_lattice(x.values, x.size, power_step(z_));  // before common() bridges the special values
        if (gone.values > 0) a = common(x, out, room);
        if (a.result.code == status::unsupported)
            a = fine(x, gone.values == 0 ? most : largest_below(x.values, x.size, rule.limit), lattice, out, room);
        if (a.result.code == status::unsupported && rule.limit > z_.safe) {
            rule.limit = z_.safe;  // no grid between the common one and the values: only those stay that the common one holds
            return without(rule, copy, gone, out, room);
        }
        if (a.result.code != status::ok || gone.values == 0) return a;
        u8* const section = out + a.result.bytes;
        const u8* const end = specials::write(in_.data(), in_.size(), gone, section, out + room);
        if (end == nullptr) return {{0, status::out_of_space}};
        a.result.special_values = gone.values;
        return behind(a, section, end, out);
    }

    /// A share of the values, or of their bytes, that is many.
    static constexpr std::size_t many = 32;

    static std::size_t section_bytes(const u8* chunk) noexcept { return 4 * std::size_t{chunk_head(get<u32>(chunk)).escaped}; }

    /// Is there an |x| from `limit` on that is below far_limit?
    /// @param at  the special values, those among them; usually they are all equal
    bool some_are_nearer(const specials::places& at, word limit) const noexcept
    {
        std::size_t k = 0;
        while (at.masks[k] == 0) ++k;
        const word one = specials::bits_at(in_.data(), block_elements * k + static_cast<std::size_t>(std::countr_zero(at.masks[k])));
        u32 same[specials::most_blocks];
        const bool is_far = (one & ~fields_of<T>::sign) >= far_limit(z_);
        if (is_far && specials::match(in_.data(), in_.size(), at.masks, one, same) == at.values) return false;
        return largest_below(in_.data(), in_.size(), far_limit(z_)) >= limit;
    }

    /// @param best   of common(), which may have taken special values out    @param apart  these, or room
    [[gnu::noinline]] encode_result unusual(attempt best, taken_out<T>& apart, u8* out, std::size_t room) const noexcept
    {
        T* const copy = apart.copy;
        specials::places& gone = apart.gone;
        u8 other[most_chunk_bytes<T>(chunk_elements)];
        const std::size_t of_other = std::min(room, sizeof other);
        const auto take = [&](const attempt& shorter) {
            std::memcpy(out, other, shorter.result.bytes);
            best = shorter;
        };
        specials::rule<T> rule{fine_limit(z_)};
        if (best.result.code == status::unsupported) {
            best = without(rule, copy, gone, out, room);
            if (gone.values > in_.size() / many && some_are_nearer(gone, rule.limit)) {
                const specials::rule<T> farther{far_limit(z_)};
                const attempt next = without(farther, copy, gone, other, of_other);
                if (next.result.code == status::ok && (best.result.code != status::ok || next.result.bytes < best.result.bytes)) {
                    take(next);
                    rule = farther;
                } else {
                    best = without(rule, copy, gone, out, room);
                }
            }
        }
        for (word& marker : rule.markers) {
            if (apart.guessed && &marker == rule.markers) {
                marker = apart.one;
                continue;
            }
            if (!is_shorter(best) || best.steep == nowhere) break;
            marker = find_marker(values_around(best.steep, apart), in_.size(), best.steep, gone);
            if (marker == rule.nothing) break;
            specials::places of_best{};
            if (!above_.none() && gone.values > 0) of_best = gone;
            const attempt next = without(rule, copy, gone, other, of_other);
            if (next.result.code != status::ok || next.result.bytes >= best.result.bytes) {
                if (!above_.none()) gone = of_best;
                break;
            }
            take(next);
        }
        if (!above_.none() && is_shorter(best)) {
            if (gone.values > 0) {
                std::memcpy(copy, in_.data(), in_.size_bytes());
                specials::bridge(copy, in_.size(), gone);
                best = or_in_rows(best, copy, out, other, of_other);
            } else if (own_step(out) > 0 && own_step(out) != common_lattice()) {  // with_rows() has not tried this grid
                best = or_in_rows(best, in_.data(), out, other, of_other);
            }
        }
        const bool below_ulp = rule.limit > fine_limit(z_);
        if (keep_ && (!is_shorter(best) || below_ulp || section_bytes(out) > in_.size_bytes() / many)) {
            const attempt exact{kept::encode(in_, other, of_other)};
            if (exact.result.code == status::ok && (!is_shorter(best) || exact.result.bytes < best.result.bytes)) take(exact);
        }
        return is_shorter(best) ? best.result : encode_result{0, status::out_of_space};
    }

    std::span<const T> in_;
    const quantiser<T>& z_;
    bool keep_;
    rows::distances above_;
};

}  // namespace ccoll::detail::szp
