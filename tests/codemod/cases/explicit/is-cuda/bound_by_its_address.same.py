import torch


def forward_of(session, name, on_gpu):
    def forward(images: torch.Tensor) -> torch.Tensor:
        if on_gpu and images.is_cuda:
            binding = session.io_binding()
            binding.bind_input(
                name=name,
                device_type="cuda",
                device_id=images.device.index or 0,
                shape=tuple(images.shape),
                buffer_ptr=images.data_ptr(),
            )
            session.run_with_iobinding(binding)
            found = binding.copy_outputs_to_cpu()[0]
        else:
            found = session.run(None, {name: images.cpu().numpy()})[0]
        return torch.from_numpy(found)

    return forward


def bound(session, images, fast):
    if fast and images.is_cuda:
        return session.bind(images)
    return session.run(images)
