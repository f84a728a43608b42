"""Train a character-level GPT on one GPU, or on several under torchrun.

    python train_gpt.py
    python train_gpt.py --steps 1000 --data my.txt --out runs/cuda_gpt
    torchrun --nproc-per-node 2 train_gpt.py

The checkpoint and the samples go to --out. --resume continues from the checkpoint that is there.
"""

import argparse
import json
import math
import os
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.cuda.amp import GradScaler, autocast
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, RandomSampler

MIB = 2**20


class CharDataset(Dataset):
    """Every window of block_size characters, with the same window one character later."""

    def __init__(self, ids, block_size):
        self.ids = ids
        self.block_size = block_size

    def __len__(self):
        return len(self.ids) - self.block_size

    def __getitem__(self, start):
        window = self.ids[start : start + self.block_size + 1]
        return window[:-1], window[1:]


class Prefetcher:
    """Copies the next batch to the GPU on a side stream while the current one is in use."""

    def __init__(self, loader):
        self.batches = iter(loader)
        self.stream = torch.cuda.Stream()
        self.preload()

    def preload(self):
        try:
            x, y = next(self.batches)
        except StopIteration:
            self.ready = None
            return
        with torch.cuda.stream(self.stream):
            self.ready = x.cuda(non_blocking=True), y.cuda(non_blocking=True)

    def __iter__(self):
        while self.ready is not None:
            current = torch.cuda.current_stream()
            current.wait_stream(self.stream)
            x, y = self.ready
            x.record_stream(current)
            y.record_stream(current)
            self.preload()
            yield x, y


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        attended = F.scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True)
        x = x + self.project(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocab_size, block_size, layers, heads, width, dropout):
        super().__init__()
        self.block_size = block_size
        self.token = nn.Embedding(vocab_size, width)
        self.position = nn.Embedding(block_size, width)
        self.blocks = nn.Sequential(*[Block(width, heads, dropout) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab_size, bias=False)
        self.apply(self.init_weights)

    @staticmethod
    def init_weights(module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, ids, targets=None):
        where = torch.arange(ids.shape[1], device=ids.device)
        x = self.blocks(self.token(ids) + self.position(where))
        logits = self.head(self.norm(x))
        if targets is None:
            return logits
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    @torch.no_grad()
    def generate(self, ids, count, temperature=0.8):
        for _ in range(count):
            logits = self(ids[:, -self.block_size :])[:, -1] / temperature
            ids = torch.cat([ids, torch.multinomial(logits.softmax(-1), 1)], dim=1)
        return ids


@torch.no_grad()
def evaluate(model, dataset, batch_size, batches=8):
    """Mean loss over evenly spaced windows, averaged over the ranks."""
    model.eval()
    starts = torch.linspace(0, len(dataset) - 1, batches * batch_size).long().tolist()
    total = torch.zeros((), device="cuda")
    for i in range(batches):
        pairs = [dataset[s] for s in starts[i * batch_size : (i + 1) * batch_size]]
        x, y = (torch.stack(side).pin_memory().cuda(non_blocking=True) for side in zip(*pairs))
        with autocast():
            total += model(x, y) / batches
    model.train()
    if dist.is_initialized():
        dist.all_reduce(total)
        total /= dist.get_world_size()
    return total.item()


def learning_rate(step, steps, peak, warmup=20):
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = (step - warmup) / max(1, steps - warmup)
    return peak * (0.1 + 0.45 * (1 + math.cos(math.pi * progress)))


def parse_args():
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description="Train a character-level GPT.")
    parser.add_argument("--data", type=Path, default=here / "data" / "genesis.txt")
    parser.add_argument("--out", type=Path, default=Path("runs/gpt"))
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--batch-size", type=int, default=16, help="sequences per GPU")
    parser.add_argument("--block-size", type=int, default=64, help="characters per sequence")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--lr", type=float, default=8e-3)
    parser.add_argument("--workers", type=int, default=2, help="loader processes")
    parser.add_argument("--log-every", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1337)
    parser.add_argument("--resume", action="store_true", help="continue from OUT/checkpoint.pt")
    parser.add_argument("--losses", type=Path, help="write each step's loss, exactly, as JSON")
    return parser.parse_args()


def main():
    args = parse_args()
    distributed = "LOCAL_RANK" in os.environ
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    if distributed:
        dist.init_process_group("nccl")
        torch.cuda.set_device(local_rank)
    rank = dist.get_rank() if distributed else 0
    world_size = dist.get_world_size() if distributed else 1

    def log(*words):
        if rank == 0:
            print(*words, flush=True)

    torch.manual_seed(args.seed)
    torch.cuda.manual_seed_all(args.seed + rank)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = True
    device = torch.device("cuda", local_rank)
    log(f"training on {world_size} x {torch.cuda.get_device_name(device)}")

    text = args.data.read_text(encoding="utf-8")
    characters = sorted(set(text))
    index = {c: i for i, c in enumerate(characters)}
    ids = torch.tensor([index[c] for c in text])
    split = int(0.9 * len(ids))
    train_set = CharDataset(ids[:split], args.block_size)
    valid_set = CharDataset(ids[split:], args.block_size)
    log(f"{args.data.name}: {len(text):,} characters, {len(characters)} different ones")

    shape = {
        "vocab_size": len(characters),
        "block_size": args.block_size,
        "layers": args.layers,
        "heads": args.heads,
        "width": args.width,
        "dropout": args.dropout,
    }
    model = GPT(**shape).cuda()
    log(f"{sum(p.numel() for p in model.parameters()):,} parameters")
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.1, fused=True
    )
    scaler = GradScaler()
    first_step = 0
    args.out.mkdir(parents=True, exist_ok=True)
    checkpoint_path = args.out / "checkpoint.pt"
    if args.resume:
        checkpoint = torch.load(checkpoint_path, map_location=device)
        model.load_state_dict(checkpoint["model"])
        optimizer.load_state_dict(checkpoint["optimizer"])
        scaler.load_state_dict(checkpoint["scaler"])
        first_step = checkpoint["step"]
        log(f"resumed at step {first_step}")
    trained = DDP(model, device_ids=[local_rank]) if distributed else model

    steps = args.steps - first_step
    shuffle = torch.Generator().manual_seed(args.seed + 1000 * rank + first_step)
    loader = DataLoader(
        train_set,
        batch_size=args.batch_size,
        sampler=RandomSampler(
            train_set, replacement=True, num_samples=steps * args.batch_size, generator=shuffle
        ),
        num_workers=args.workers,
        pin_memory=True,
    )

    torch.cuda.reset_peak_memory_stats()
    log(f"{torch.cuda.memory_allocated() / MIB:.1f} MiB held before the first step")
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    losses = []
    since_log = 0
    start.record()
    for step, (x, y) in enumerate(Prefetcher(loader), start=first_step):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, args.steps, args.lr)
        with autocast():
            loss = trained(x, y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
        since_log += 1
        if step == first_step or (step + 1) % args.log_every == 0 or step + 1 == args.steps:
            end.record()
            torch.cuda.synchronize()
            log(
                f"step {step + 1:4d}/{args.steps}  loss {loss.item():.4f}"
                f"  {start.elapsed_time(end) / since_log:6.1f} ms/step"
                f"  {torch.cuda.memory_allocated() / MIB:6.1f} MiB held"
                f"  {torch.cuda.max_memory_allocated() / MIB:6.1f} MiB peak"
            )
            since_log = 0
            start.record()

    log(f"validation loss {evaluate(model, valid_set, args.batch_size):.4f}")
    if rank == 0:
        torch.save(
            {
                "shape": shape,
                "characters": characters,
                "step": args.steps,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scaler": scaler.state_dict(),
            },
            checkpoint_path,
        )
        log(f"saved {checkpoint_path}")
        if args.losses:
            history = torch.stack(losses).cpu().tolist() if losses else []
            args.losses.parent.mkdir(parents=True, exist_ok=True)
            args.losses.write_text(json.dumps([value.hex() for value in history], indent=0) + "\n")

        # What is sampled comes from the file, not from the model in memory.
        checkpoint = torch.load(checkpoint_path, map_location="cuda")
        restored = GPT(**checkpoint["shape"]).cuda().eval()
        restored.load_state_dict(checkpoint["model"])
        prompts = ["And God said", "In the begin"]
        prompt = torch.tensor([[index.get(c, 0) for c in p] for p in prompts]).cuda()
        samples = [
            "".join(characters[i] for i in row) for row in restored.generate(prompt, 160).tolist()
        ]
        (args.out / "samples.txt").write_text("\n\n".join(samples) + "\n", encoding="utf-8")
        for sample in samples:
            log("-" * 80 + "\n" + sample)
    if distributed:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
