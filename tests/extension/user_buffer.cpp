// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the library promises to the owner of a container: with a buffer_traits, every call accepts it as a
// buffer.
#include "support/catch.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include <ccoll/ccoll.hpp>
#include <ccoll/transport/threads.hpp>

namespace tiny {

/// A view like those of Kokkos: it shares its memory and knows its extents, and a const view still gives
/// mutable elements.
template <class T>
class view {
public:
    view(std::size_t rows, std::size_t columns)
        : memory_(std::make_shared<std::vector<T>>(rows * columns)), rows_(rows), columns_(columns)
    {}
    T* pointer() const { return memory_->data(); }
    std::size_t extent(int dimension) const { return dimension == 0 ? rows_ : columns_; }
    T& operator()(std::size_t i, std::size_t j) const { return (*memory_)[i * columns_ + j]; }

private:
    std::shared_ptr<std::vector<T>> memory_;
    std::size_t rows_, columns_;
};

}  // namespace tiny

// [doc:buffer]
// Also for const views, because a send buffer is seen as const.
template <class View>
    requires requires(const View& v) {
        v.pointer();
        v.extent(1);
    }
struct ccoll::buffer_traits<View> {
    using space = ccoll::host_space;
    static auto* data(View& v) { return v.pointer(); }
    static std::size_t size(View& v) { return v.extent(0) * v.extent(1); }
};
// [/doc:buffer]

using namespace ccoll::policies;

static_assert(ccoll::buffer<tiny::view<float>&> && ccoll::buffer<const tiny::view<double>&>);

TEST_CASE("a foreign view goes wherever a vector goes", "[extension][buffer]")
{
    ccoll::run_ranks(3, [](ccoll::threads_comm& comm) {
        tiny::view<float> field(40, 50), sum(40, 50);
        for (std::size_t i = 0; i < 40; ++i)
            for (std::size_t j = 0; j < 50; ++j)
                field(i, j) = static_cast<float>(std::sin(0.1 * static_cast<double>(i + j)));
        const auto report = ccoll::allreduce<Codec::PipeSZx, ErrorBound<1e-3>>(field, sum, comm);
        const auto in_place = ccoll::allreduce<Codec::PipeSZx, ErrorBound<1e-3>>(field, comm);
        for (std::size_t i = 0; i < 40; ++i)
            for (std::size_t j = 0; j < 50; ++j) {
                const double exact = 3 * static_cast<float>(std::sin(0.1 * static_cast<double>(i + j)));
                if (std::fabs(sum(i, j) - exact) > report.worst_case_error + 1e-5)
                    throw std::runtime_error("beyond the bound");
                if (std::fabs(field(i, j) - exact) > in_place.worst_case_error + 1e-5)
                    throw std::runtime_error("in place");
            }
        std::vector<float> plain(2000);  // two kinds of buffer in one call
        ccoll::allreduce(sum, plain, comm);
        if (std::fabs(plain[7] - 3 * sum(0, 7)) > 1e-5f) throw std::runtime_error("mixed buffers");
    });
    tiny::view<double> a(3, 4), b(3, 4);
    a(2, 3) = 7;
    std::vector<std::byte> frame(ccoll::max_encoded_bytes<Codec::SZx, double>(12));
    REQUIRE(ccoll::encode<Codec::SZx>(a, frame, 1e-6).code == ccoll::status::ok);
    REQUIRE(ccoll::decode<Codec::SZx>(frame, b) == ccoll::status::ok);
    CHECK(std::fabs(b(2, 3) - 7) <= 1e-6);
}
