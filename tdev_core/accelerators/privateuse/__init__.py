"""A torch device type of our own on ``PrivateUse1``, in pure Python: what ``sim`` and ``mlx`` share.

How a device is built on it::

    from tdev_core.accelerators.privateuse.registration import DeviceSpec, register
    from tdev_core.accelerators.privateuse import torch_api

    register(DeviceSpec(name="mlx", accelerator=MlxAccelerator(), storages=MlxStorages()))
    torch_api.set_fallback(boxed)             # boxed(op, *args, **kwargs) runs every operator without a kernel
    torch_api.implement("aten::add.Tensor", add)

* ``torch_api``      the only module that touches torch's experimental or private names: registration,
                     hooks, device guard, storages over an address, tensors over a storage.
* ``registration``   ``DeviceSpec`` and ``register``: once in a process, and an error where another backend
                     already has ``PrivateUse1``.
* ``storages``       the ``Storages`` protocol that a device implements, and the methods of
                     ``torch.UntypedStorage`` that are routed to it (``cpu``, ``clone``, ``copy_``, ``resize_``,
                     ``UntypedStorage(n, device=…)``, …) so that pickle, deepcopy, ``torch.save`` and
                     ``torch.load`` are right.
* ``module``         the module that torch expects as ``torch.<name>`` (``device_count``, ``manual_seed_all``,
                     memory, RNG state), answered by an ``Accelerator``, and by ``tdev_core.accelerators.streams``.
* ``generic_api``    what ``torch.accelerator`` asks of the device in code that is not rewritten.
* ``generator``      ``DeviceGenerator``: a ``torch.Generator`` that names the device.
* ``native_kernels``  a device's native kernels: loaded where they have been built.
* ``thread_generator``  what the calling thread draws from where a block has named a generator.
* ``operators``      one Python object for each operator, whichever threads ask for it first.
* ``compiling``      which compiler serves where TorchInductor is asked for.
* ``recomputing``    the draws that a compiled backward pass makes once more.
* ``native``         builds and loads a device's kernels in C++.
* ``process_group``  the ``torch.distributed`` backend that copies through gloo.

Nothing is imported here, so that importing this package costs nothing.
"""
