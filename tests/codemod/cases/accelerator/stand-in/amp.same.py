import torch
from apex import amp


def train(model, optimizer, loader, criterion):
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1", loss_scale="dynamic")
    for x, y in loader:
        optimizer.zero_grad()
        rate = 1.0
        out = model(x)
        loss = criterion(out, y)
        with amp.scale_loss(loss, optimizer) as scaled_loss:
            scaled_loss.backward()
        torch.nn.utils.clip_grad_norm_(amp.master_params(optimizer), rate)
        optimizer.step()
    return amp.state_dict()


def two(a, b, first, second, args):
    (a, b), (first, second) = amp.initialize([a, b], [first, second], opt_level=args.level, loss_scale=128.0, num_losses=2)
    with amp.scale_loss(a(b(1)).sum() / 2, [first, second], loss_id=1) as scaled:
        scaled.backward(retain_graph=True)
        print(scaled)
    first.step()
    second.step()


def whole(model, state):
    amp.load_state_dict(state)
    return amp.initialize(model, opt_level="O3"), amp.initialize(model, opt_level="O2"), amp.initialize(*model)
