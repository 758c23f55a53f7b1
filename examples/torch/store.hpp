// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// store.hpp - a store of torch as an exchange of ccoll: how ranks find each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <ccoll/transport/exchange.hpp>

namespace ccoll_torch {

class store_exchange final : public ccoll::exchange {
public:
    /// @param store  may be null, if nothing is exchanged
    explicit store_exchange(c10::intrusive_ptr<c10d::Store> store) : store_(std::move(store)) {}

    void put(const std::string& key, ccoll::const_byte_span value) override
    {
        std::vector<std::uint8_t> bytes(value.size());
        if (!bytes.empty()) std::memcpy(bytes.data(), value.data(), bytes.size());
        store_->set(key, bytes);
    }
    bool get(const std::string& key, std::vector<std::byte>& value, double seconds) override
    {
        try {
            store_->wait({key}, std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds) + 1));
        } catch (const std::exception&) {
            return false;  // most likely nobody has put it; a store that has gone is no better
        }
        const std::vector<std::uint8_t> bytes = store_->get(key);
        value.resize(bytes.size());
        if (!bytes.empty()) std::memcpy(value.data(), bytes.data(), bytes.size());
        return true;
    }

private:
    c10::intrusive_ptr<c10d::Store> store_;
};

}  // namespace ccoll_torch
