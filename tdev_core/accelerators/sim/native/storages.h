// Storages of device `sim` in C++: host memory with an owner, a device and a count, and tensors over it.
//
// The invariants are those of sim/memory.py. A sim storage's context is `Held`, which keeps the host's storage; a host that
// was counted here has its memory wrapped in `Counted`, so that the count falls when that memory goes, whoever held it last.
// Nothing here asks for Python's lock. Part of native.cpp, the one translation unit.

#pragma once

#include <Python.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/intrusive_ptr.h>

namespace {

using Storage = c10::StorageImpl;

c10::intrusive_ptr<Storage> shared(Storage* storage) {
  return c10::intrusive_ptr<Storage>::reclaim_copy(storage);
}

c10::intrusive_ptr<Storage> shared(const c10::Storage& storage) {
  return shared(storage.unsafeGetStorageImpl());
}

// As tdev_core.watermark.Tally has it.
struct Tally {
  std::atomic<int64_t> now{0}, peak{0}, risen{0}, fallen{0};

  void up(int64_t amount) {
    const int64_t held = now.fetch_add(amount) + amount;
    risen.fetch_add(amount);
    int64_t highest = peak.load();
    while (held > highest && !peak.compare_exchange_weak(highest, held)) {
    }
  }

  void down(int64_t amount) {
    now.fetch_sub(amount);
    fallen.fetch_add(amount);
  }
};

struct Pool {
  Tally bytes, blocks;
  std::atomic<int64_t> limit{0};
  std::atomic<bool> used{false};
};

// By index of the device. Never given back: memory may be freed until the process has ended.
std::vector<Pool*> pools;

struct Counted {
  c10::DataPtr memory;  // as the host's allocator gave it
  Pool* pool;
  int64_t nbytes;
  c10::weak_intrusive_ptr<Storage> over;  // the sim storage, where there is one
};

struct Held {
  c10::intrusive_ptr<Storage> host;
};

void uncount(void* context) {
  std::unique_ptr<Counted> counted(static_cast<Counted*>(context));
  if (counted->nbytes > 0) {
    counted->pool->bytes.down(counted->nbytes);
    counted->pool->blocks.down(1);
  }
}

void let_go(void* context) {
  delete static_cast<Held*>(context);
}

Counted* counted(const Storage& host) {
  const auto& memory = host.data_ptr();
  return memory.get_deleter() == &uncount ? static_cast<Counted*>(memory.get_context()) : nullptr;
}

// The storage of the host below a sim storage; null where something else has made it.
Storage* host_of(const Storage& storage) {
  const auto& memory = storage.data_ptr();
  return memory.get_deleter() == &let_go ? static_cast<Held*>(memory.get_context())->host.get() : nullptr;
}

// A sim storage over `host`, which is counted elsewhere.
c10::intrusive_ptr<Storage> over(c10::intrusive_ptr<Storage> host, c10::DeviceIndex index) {
  const auto nbytes = static_cast<int64_t>(host->nbytes());
  void* address = host->mutable_data();
  return c10::make_intrusive<Storage>(
      Storage::use_byte_size_t(),
      nbytes,
      c10::DataPtr(
          address, new Held{std::move(host)}, &let_go, c10::Device(c10::DeviceType::PrivateUse1, index)),
      /*allocator=*/nullptr,
      /*resizable=*/false);
}

// The sim storage over `host`: the one there is, or a new one that is counted; null where the device has no room for it.
c10::intrusive_ptr<Storage> adopt(const c10::intrusive_ptr<Storage>& host, c10::DeviceIndex index) {
  Counted* known = counted(*host);
  if (known == nullptr) {
    Pool* pool = pools.at(index);
    const auto nbytes = static_cast<int64_t>(host->nbytes());
    if (nbytes > 0 && pool->bytes.now.load() + nbytes > pool->limit.load()) {
      return {};
    }
    void* address = host->mutable_data();
    auto* wrapped = new Counted{c10::DataPtr(), pool, nbytes, c10::weak_intrusive_ptr<Storage>(c10::intrusive_ptr<Storage>())};
    wrapped->memory = host->set_data_ptr(c10::DataPtr(address, wrapped, &uncount, c10::Device(c10::DeviceType::CPU)));
    pool->used.store(true);
    if (nbytes > 0) {
      pool->bytes.up(nbytes);
      pool->blocks.up(1);
    }
    known = wrapped;
  } else if (auto there = known->over.lock()) {
    return there;
  }
  auto storage = over(host, index);
  known->over = c10::weak_intrusive_ptr<Storage>(storage);
  return storage;
}

void copy_metadata(const at::Tensor& from, at::Tensor& to) {
  to.unsafeGetTensorImpl()->set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
  if (from.is_conj()) {
    to._set_conj(true);
  }
  if (from.is_neg()) {
    to._set_neg(true);
  }
}

// A tensor with the dtype and shape of `like` over `storage`.
at::Tensor tensor_over(c10::intrusive_ptr<Storage> storage, const at::Tensor& like, c10::DispatchKey key) {
  auto made = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(std::move(storage)), c10::DispatchKeySet(key), like.dtype());
  copy_metadata(like, made);
  return made;
}

}  // namespace
