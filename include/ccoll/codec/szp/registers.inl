// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// codec/szp/registers.inl - floor 2. Primitives of szp/loops.inl that follow from others where quanta are
// registers. The namespace that includes this file has lanes, the bytes of a register; quanta, whose v[] are
// registers; running, a register; and for those
//   nearest(x, z)               rint(x i) of a register's f32, in T, and what quantise() makes of large
//                               values; nearest_in_double(x, z)
//   times(q, step)              q step in f32; times<Half>(q, step) in f64, of one half of the register
//   moved_up(last, v)           the last number of a register, and all but the last one of v
//   get_planes(in, width, q)    differences
//   scan(q, r)                  running sums of them
//   scan_few_planes(in, width, q, r)   restore() for widths 1..few_planes

/// Registers that can be added.
typedef u32 addable __attribute__((vector_size(lanes)));
typedef addable addable_in_memory __attribute__((aligned(4), may_alias));
inline constexpr std::size_t in_register = lanes / sizeof(i32), registers = block_elements / in_register;
/// Are differences taken between registers? With shorter ones, writing quanta and reading them again takes
/// 0.8 to 0.95 of the time.
inline constexpr bool fuses = lanes == 64;

CCOLL_INLINE running quanta_at(const float* x, const grid<float>& z, rounding how) noexcept
{
    if (how == rounding::fast) return nearest(x, z);
    if (how == rounding::in_double) return nearest_in_double(x, z);
    const addable in_t = reinterpret_cast<addable>(nearest(x, z)),
                  in_double = reinterpret_cast<addable>(nearest_in_double(x, z));
    const addable bits = *reinterpret_cast<const addable_in_memory*>(x) & 0x7fffffffu,
                  below = reinterpret_cast<addable>(bits < z.usual);
    return reinterpret_cast<running>((in_t & below) | (in_double & ~below));
}
CCOLL_INLINE running quanta_at(const double* x, const grid<double>& z, rounding /*how*/) noexcept
{
    return nearest_in_double(x, z);
}
CCOLL_INLINE addable number_at(const i32* from) noexcept
{
    return *reinterpret_cast<const addable_in_memory*>(from);
}
CCOLL_INLINE void store(const quanta& q, i32* to) noexcept
{
    CCOLL_UNROLLED for (std::size_t i = 0; i < registers; ++i) *
        reinterpret_cast<addable_in_memory*>(to + in_register * i) = reinterpret_cast<addable>(q.v[i]);
}
template <class T>
CCOLL_INLINE void quantise(const T* x, const grid<T>& z, rounding how, quanta& q) noexcept
{
    CCOLL_UNROLLED for (std::size_t i = 0; i < registers; ++i) q.v[i] =
        quanta_at(x + in_register * i, z, how);
}
/// @param last  a register whose last number is the one before, and then the block's last one
CCOLL_INLINE void difference(quanta& q, running& last) noexcept
{
    CCOLL_UNROLLED for (std::size_t i = 0; i < registers; ++i)
    {
        const running v = q.v[i];
        q.v[i] = reinterpret_cast<running>(reinterpret_cast<addable>(v) -
                                           reinterpret_cast<addable>(moved_up(last, v)));
        last = v;
    }
}
CCOLL_INLINE running register_at(const i32* from) noexcept
{
    return reinterpret_cast<running>(number_at(from));
}
CCOLL_INLINE void load(const i32* from, quanta& q) noexcept
{
    CCOLL_UNROLLED for (std::size_t i = 0; i < registers; ++i) q.v[i] = register_at(from + in_register * i);
}
CCOLL_INLINE addable difference_at(const i32* from) noexcept { return number_at(from) - number_at(from - 1); }
CCOLL_INLINE void difference(const i32* from, quanta& q) noexcept
{
    CCOLL_UNROLLED for (std::size_t i = 0; i < registers; ++i) q.v[i] =
        reinterpret_cast<running>(difference_at(from + in_register * i));
}
CCOLL_INLINE addable above_at(const i32* from) noexcept
{
    return fuses ? number_at(from) : difference_at(from);
}
CCOLL_INLINE void subtract_above(const block_above& above, bool planes, quanta& d) noexcept
{
    CCOLL_UNROLLED for (std::size_t i = 0; i < registers; ++i)
    {
        const std::size_t at = in_register * i;
        addable v = reinterpret_cast<addable>(d.v[i]) - above_at(above.row + at);
        if (planes) v -= above_at(above.plane + at) - above_at(above.both + at);
        d.v[i] = reinterpret_cast<running>(v);
    }
}
CCOLL_INLINE i32 residual_of(i32 number, const block_above& above, bool planes) noexcept
{
    const auto last = [](const i32* of) CCOLL_TARGET { return static_cast<u32>(*(of - 1)); };
    const u32 of_rows = static_cast<u32>(number) - last(above.row),
              of_planes = planes ? last(above.plane) - last(above.both) : 0;
    return static_cast<i32>(of_rows - of_planes);
}
/// Residuals to quanta, which are stored: one register after another, because no distance is shorter than
/// that.
CCOLL_INLINE void add_above(const block_above& above, bool planes, quanta& q, i32* to) noexcept
{
    CCOLL_UNROLLED for (std::size_t i = 0; i < registers; ++i)
    {
        const std::size_t at = in_register * i;
        addable v = reinterpret_cast<addable>(q.v[i]) + number_at(above.row + at);
        if (planes) v += number_at(above.plane + at) - number_at(above.both + at);
        *reinterpret_cast<addable_in_memory*>(to + at) = v;
        q.v[i] = reinterpret_cast<running>(v);
    }
}
CCOLL_INLINE i32 first_of(running v) noexcept { return static_cast<i32>(reinterpret_cast<addable>(v)[0]); }
/// The largest magnitude of the numbers of some registers.
struct range_of_registers {
    typedef i32 numbers __attribute__((vector_size(lanes)));
    numbers high, low;

    CCOLL_INLINE explicit range_of_registers(i32 first) noexcept : high(numbers{} + first), low(high) {}
    CCOLL_INLINE void add(running last) noexcept
    {
        const numbers v = reinterpret_cast<numbers>(last);
        high = v > high ? v : high;
        low = v < low ? v : low;
    }
    /// @param from  the first number of a register that counts
    CCOLL_INLINE u32 largest(std::size_t from) const noexcept
    {
        u32 most = 0;
        for (std::size_t k = from; k < in_register; ++k)
            most = std::max({most, magnitude(high[k]), magnitude(low[k])});
        return most;
    }
};
CCOLL_INLINE void start(running& r, i32 base) noexcept
{
    r = reinterpret_cast<running>(addable{} + static_cast<u32>(base));
}

/// @param to  a pointer, or a line writer
template <class To>
CCOLL_INLINE void dequantise(const quanta& q, float step, To& to) noexcept
{
    CCOLL_UNROLLED for (std::size_t i = 0; i < registers; ++i)
        write(to, in_register * i, times(q.v[i], step));
}
template <class To>
CCOLL_INLINE void dequantise(const quanta& q, double step, To& to) noexcept
{
    CCOLL_UNROLLED for (std::size_t i = 0; i < registers; ++i)
    {
        write(to, in_register * i, times<0>(q.v[i], step));
        write(to, in_register * i + in_register / 2, times<1>(q.v[i], step));
    }
}

CCOLL_INLINE void restore(const u8* in, unsigned width, running& r, quanta& q) noexcept
{
    if (width == 0) {
        CCOLL_UNROLLED for (auto& v : q.v) v = r;
    } else if (width <= few_planes) {
        scan_few_planes(in, width, q, r);
    } else {
        get_planes(in, width, q);
        scan(q, r);
    }
}
