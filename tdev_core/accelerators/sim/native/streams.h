// The current streams of a thread, as torch's C++ asks for them: the engine runs backward on the stream of the forward.
//
// The streams themselves are Python's (accelerators/streams.py), and so is what they wait for; a thread's choice is kept
// here too, so that asking for it takes no lock. Part of native.cpp, the one translation unit.

#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <pybind11/pybind11.h>

#include "storages.h"

namespace {

thread_local std::vector<c10::StreamId> current_streams;  // by device; 0 is the default stream

void select_stream(size_t index, c10::StreamId id) {
  if (current_streams.size() <= index) {
    current_streams.resize(index + 1, 0);
  }
  current_streams[index] = id;
}

// What Python answers; never given back, since torch may ask until the process has ended.
struct Streams {
  PyObject* create;    // (index, priority): the id of a new stream
  PyObject* exchange;  // (index, id): make it current
  PyObject* until;     // (index, id): the moment when a stream is done
  PyObject* order;     // (index, id, moment): let what comes later be done after it
  PyObject* busy;      // (moment)
  PyObject* wait;      // (moment)
};

// The guard that Python has registered, but for streams and events. An event is the moment that it marks.
class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  Guard(const c10::impl::DeviceGuardImplInterface* devices, Streams streams) : devices_(devices), streams_(streams) {}

  c10::DeviceType type() const override {
    return c10::DeviceType::PrivateUse1;
  }
  c10::Device exchangeDevice(c10::Device device) const override {
    return devices_->exchangeDevice(device);
  }
  c10::Device getDevice() const override {
    return devices_->getDevice();
  }
  void setDevice(c10::Device device) const override {
    devices_->setDevice(device);
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    devices_->uncheckedSetDevice(device);
  }
  c10::DeviceIndex deviceCount() const noexcept override {
    return static_cast<c10::DeviceIndex>(pools.size());
  }

  c10::Stream getStream(c10::Device device) const override {
    const auto index = std::max<c10::DeviceIndex>(device.index(), 0);
    const auto place = static_cast<size_t>(index);
    return stream(index, place < current_streams.size() ? current_streams[place] : 0);
  }
  c10::Stream getDefaultStream(c10::Device device) const override {
    return stream(std::max<c10::DeviceIndex>(device.index(), 0), 0);
  }
  c10::Stream getNewStream(c10::Device, int priority = 0) const override {
    // Which of several devices is current is Python's to know, and entering a stream has to choose it.
    TORCH_CHECK(
        pools.size() == 1, "torch.Stream() is made where there is one 'sim' device; of several, torch.cuda.Stream() in "
        "rewritten code, or torch.sim.Stream(), is of the one that is meant");
    const py::gil_scoped_acquire gil;
    return stream(0, py::handle{streams_.create}(0, priority).cast<c10::StreamId>());
  }
  c10::Stream exchangeStream(c10::Stream chosen) const override {
    const auto before = getStream(chosen.device());
    if (before.id() != chosen.id()) {
      const py::gil_scoped_acquire gil;
      py::handle{streams_.exchange}(int{chosen.device_index()}, chosen.id());
    }
    return before;
  }
  bool queryStream(const c10::Stream& asked) const override {
    return !is_busy(until(asked));
  }
  void synchronizeStream(const c10::Stream& asked) const override {
    wait(until(asked));
  }

  void record(void** event, const c10::Stream& at, c10::DeviceIndex, c10::EventFlag) const override {
    if (*event == nullptr) {
      *event = new int64_t{0};
    }
    *static_cast<int64_t*>(*event) = until(at);
  }
  void block(void* event, const c10::Stream& later) const override {
    const auto moment = moment_of(event);
    if (moment != 0) {
      const py::gil_scoped_acquire gil;
      py::handle{streams_.order}(int{later.device_index()}, later.id(), moment);
    }
  }
  bool queryEvent(void* event) const override {
    return !is_busy(moment_of(event));
  }
  void synchronizeEvent(void* event) const override {
    wait(moment_of(event));
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    delete static_cast<int64_t*>(event);
  }

 private:
  static c10::Stream stream(c10::DeviceIndex index, c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::DeviceType::PrivateUse1, index), id);
  }
  static int64_t moment_of(void* event) {
    return event == nullptr ? 0 : *static_cast<int64_t*>(event);
  }
  int64_t until(const c10::Stream& asked) const {
    const py::gil_scoped_acquire gil;
    return py::handle{streams_.until}(int{asked.device_index()}, asked.id()).cast<int64_t>();
  }
  bool is_busy(int64_t moment) const {
    const py::gil_scoped_acquire gil;
    return moment != 0 && py::handle{streams_.busy}(moment).cast<bool>();
  }
  void wait(int64_t moment) const {
    if (moment != 0) {
      const py::gil_scoped_acquire gil;
      py::handle{streams_.wait}(moment);
    }
  }

  const c10::impl::DeviceGuardImplInterface* devices_;
  Streams streams_;
};

}  // namespace
