// What stands before the Python kernels of device `sim`: the same steps in C++, without Python and without its lock.
//
// storages.h has memory and its count, front.h the way of a call, composite.h that of an operator of many, hooks.h
// what torch asks the device for, streams.h a thread's current streams. This file registers, and shows Python all of it.

#include <Python.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/dispatch/Dispatcher.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/Storage.h>
#include <torch/library.h>

#include "composite.h"
#include "front.h"
#include "hooks.h"
#include "storages.h"
#include "streams.h"

namespace {

torch::Library* library = nullptr;
torch::Library* autograd = nullptr;  // for what is above the device's kernels

// torch warns of a kernel registered in another's place, which is what is meant here.
class Quietly final : public c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

template <typename Kernel>
void put(const c10::OperatorHandle& operation, std::unique_ptr<Kernel> kernel, torch::Library* to = library) {
  Quietly quietly;
  const c10::WarningUtils::WarningHandlerGuard guard(&quietly);
  const auto& name = operation.operator_name();
  const auto full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
  to->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
}

c10::OperatorHandle find(const std::string& name, const std::string& overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
}

c10::intrusive_ptr<Storage> unpacked(const py::object& storage) {
  TORCH_CHECK(THPStorage_Check(storage.ptr()), "not a storage");
  return shared(THPStorage_Unpack(storage.ptr()));
}

py::object wrapped(c10::intrusive_ptr<Storage> storage) {
  if (!storage) {
    return py::none();
  }
  PyObject* object = THPStorage_Wrap(c10::Storage(std::move(storage)));
  if (object == nullptr) {
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::object>(object);
}

void start(const py::object& adopt, const py::object& back) {
  TORCH_CHECK(library == nullptr, "the native kernels have been started before");
  adopt_tensor = adopt.inc_ref().ptr();
  give_back = back.inc_ref().ptr();
  library = new torch::Library(torch::Library::IMPL, "aten", kDevice, __FILE__, __LINE__);
  autograd = new torch::Library(
      torch::Library::IMPL, "aten", c10::DispatchKey::AutogradPrivateUse1, __FILE__, __LINE__);
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  module.doc() = "What stands before the Python kernels of device sim; see the package tdev_core.accelerators.sim.native.";
  py::class_<Tally, std::unique_ptr<Tally, py::nodelete>>(module, "Tally")
      .def_property_readonly("now", [](const Tally& t) { return t.now.load(); })
      .def_property_readonly("peak", [](const Tally& t) { return t.peak.load(); })
      .def_property_readonly("risen", [](const Tally& t) { return t.risen.load(); })
      .def_property_readonly("fallen", [](const Tally& t) { return t.fallen.load(); })
      .def("up", &Tally::up, py::arg("amount"))
      .def("down", &Tally::down, py::arg("amount"))
      .def("reset_peak", [](Tally& t) { t.peak.store(t.now.load()); })
      .def("reset_totals", [](Tally& t) {
        t.risen.store(0);
        t.fallen.store(0);
      });
  py::class_<Pool, std::unique_ptr<Pool, py::nodelete>>(module, "Pool")
      .def_property_readonly("bytes", [](Pool& p) { return &p.bytes; }, py::return_value_policy::reference)
      .def_property_readonly("blocks", [](Pool& p) { return &p.blocks; }, py::return_value_policy::reference)
      .def_property(
          "limit", [](const Pool& p) { return p.limit.load(); }, [](Pool& p, int64_t limit) { p.limit.store(limit); })
      .def_property(
          "used", [](const Pool& p) { return p.used.load(); }, [](Pool& p, bool used) { p.used.store(used); });
  module.def(
      "pool",
      [](size_t index) {
        pools.resize(std::max(pools.size(), index + 1));
        pools[index] = new Pool();
        return pools[index];
      },
      py::return_value_policy::reference, py::arg("index"));
  module.def("start", &start, py::arg("adopt_tensor"), py::arg("give_back"));
  module.def(
      "front",
      [](const std::string& name, const std::string& overload, bool scalars, std::vector<bool> any, bool refuses_masks, bool alerts) {
        const auto operation = find(name, overload);
        put(operation, std::make_unique<Front>(operation, Rule{scalars, std::move(any), refuses_masks, alerts}));
      },
      py::arg("name"), py::arg("overload"), py::arg("scalars"), py::arg("any"), py::arg("refuses_masks"),
      py::arg("alerts"));
  module.def(
      "view",
      [](const std::string& name, const std::string& overload) {
        const auto operation = find(name, overload);
        put(operation, std::make_unique<View>(operation));
      },
      py::arg("name"), py::arg("overload"));
  module.def(
      "composite",
      [](const std::string& name, std::vector<bool> any, size_t draws, bool alone) {
        const auto operation = find(name, "");
        put(operation, std::make_unique<Composite>(operation, Rule{false, std::move(any), true}, draws, alone), autograd);
      },
      py::arg("name"), py::arg("any"), py::arg("draws"), py::arg("alone"));
  module.def(
      "adopt",
      [](const py::object& host, int64_t index) { return wrapped(adopt(unpacked(host), static_cast<c10::DeviceIndex>(index))); },
      py::arg("host"), py::arg("index"));
  module.def(
      "over",
      [](const py::object& host, int64_t index) { return wrapped(over(unpacked(host), static_cast<c10::DeviceIndex>(index))); },
      py::arg("host"), py::arg("index"));
  module.def("counted", [](const py::object& host) { return counted(*unpacked(host)) != nullptr; }, py::arg("host"));
  module.def(
      "host_of",
      [](const py::object& storage) {
        const auto ours = unpacked(storage);
        Storage* host = host_of(*ours);
        return host == nullptr ? py::object(py::none()) : wrapped(shared(host));
      },
      py::arg("storage"));
  module.def("register_hooks", [] { at::RegisterPrivateUse1HooksInterface(new Hooks()); });
  module.def(
      "register_guard",
      [](const py::object& create, const py::object& exchange, const py::object& until, const py::object& order, const py::object& busy, const py::object& wait) {
        const auto* before = c10::impl::getDeviceGuardImpl(c10::DeviceType::PrivateUse1);
        const Streams streams{
            create.inc_ref().ptr(), exchange.inc_ref().ptr(), until.inc_ref().ptr(), order.inc_ref().ptr(), busy.inc_ref().ptr(),
            wait.inc_ref().ptr()};
        const c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::PrivateUse1, new Guard(before, streams));
      },
      py::arg("create"), py::arg("exchange"), py::arg("until"), py::arg("order"), py::arg("busy"), py::arg("wait"));
  module.def("select_stream", &select_stream, py::arg("index"), py::arg("id"));
  module.def(
      "is_pinned",
      [](const py::object& storage) { return unpacked(storage)->data_ptr().get_deleter() == &unpin; },
      py::arg("storage"));
  module.def(
      "reseat",
      [](const py::object& storage) {
        const auto ours = unpacked(storage);
        Storage* host = host_of(*ours);
        TORCH_CHECK(host != nullptr, "this storage was not made here");
        auto keep = shared(host);
        void* address = host->mutable_data();
        const auto nbytes = host->nbytes();
        ours->set_data_ptr_noswap(c10::DataPtr(address, new Held{std::move(keep)}, &let_go, ours->device()));
        ours->set_nbytes(nbytes);
      },
      py::arg("storage"));
  module.def("enable", [](bool on) { return enabled.exchange(on); }, py::arg("on"));
  module.def("answered", [] { return answered.load(); });
}
