// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/lists.inl - floor 2. From planes to lists and back, block by block: one text, for three instruction sets. The namespace that
// includes this file has ones_of(word), put_list(planes, count, to), which may write 32 bytes, and get_list(from, count), which may read 8.

CCOLL_EXACT_END  // integers only; exact regions ask for -O3, which makes these loops 1.5 times as long with g++

/// @param codes         gets the code of each block
/// @param list, planes  where the lists go, and the planes of blocks that have none
CCOLL_TARGET inline list_ends put_lists(const u8* widths, std::size_t blocks, const u8* in, u8* codes, u8* list, u8* planes) noexcept
{
    for (std::size_t k = 0; k < blocks; in += 4 * std::size_t{widths[k++]}) {
        const unsigned width = widths[k];
        if (width == 0) {
            codes[k] = 0;
            continue;
        }
        if (width <= widest_listed) {
            const few_planes few(in, width);
            const unsigned code = code_of(width, ones_of(few.any()));
            if (code <= most_listed) {
                codes[k] = static_cast<u8>(code);
                put_list(few, code, list);
                list += code;
                continue;
            }
        }
        codes[k] = static_cast<u8>(planes_code + width);
        planes = copy_planes(in, width, planes);
    }
    return {list, planes};
}

/// @param in      the planes of those blocks that have them    @param list  those of all others
/// @param widths  gets the width of each block    @return the end of the planes of all
CCOLL_TARGET inline u8* get_lists(const u8* codes, std::size_t blocks, const u8* in, const u8* list, u8* out, u8* widths) noexcept
{
    for (std::size_t k = 0; k < blocks; ++k) {
        const unsigned code = codes[k];
        if (code > most_listed) {
            const unsigned width = code - planes_code;
            out = copy_planes(in, width, out);
            in += 4 * width;
            widths[k] = static_cast<u8>(width);
            continue;
        }
        const few_planes planes = get_list(list, code);
        list += code;
        std::memcpy(out, planes.of, sizeof planes.of);
        const unsigned width = planes.width();
        out += 4 * width;
        widths[k] = static_cast<u8>(width);
    }
    return out;
}

CCOLL_EXACT_BEGIN
