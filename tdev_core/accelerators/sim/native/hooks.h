// What torch asks a device of its own for in C++ alone: memory of the host that counts as page-locked.
//
// `torch.empty(…, pin_memory=True)` asks it, a library's that knows nothing of tdev too; see sim/pinned.py for what tells of it.
// Part of native.cpp, the one translation unit.

#pragma once

#include <utility>

#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

namespace {

void unpin(void* context) {
  delete static_cast<c10::DataPtr*>(context);
}

// Memory of the CPU's allocator, which can be told from other memory by what gives it back.
class Pinned final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t nbytes) override {
    auto memory = c10::GetCPUAllocator()->allocate(nbytes);
    void* address = memory.get();
    return {address, new c10::DataPtr(std::move(memory)), &unpin, c10::Device(c10::DeviceType::CPU)};
  }

  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }
};

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return true;
  }
  bool hasPrimaryContext(c10::DeviceIndex) const override {
    return true;
  }
  c10::Allocator* getPinnedMemoryAllocator() const override {
    static Pinned pinned;
    return &pinned;
  }
};

}  // namespace
