"""Programs that train with well-known libraries, from a configuration and a seed: nothing is fetched.

Each prints ``RESULT``, where the model was, and the losses of its steps.
"""

from __future__ import annotations

NEEDED = {
    "transformers Trainer": ("transformers", "accelerate"),
    "accelerate": ("accelerate",),
    "accelerate launch": ("accelerate",),
    "lightning": ("lightning",),
    "peft LoRA": ("transformers", "peft"),
    "trl SFTTrainer": ("trl", "transformers", "accelerate", "peft", "datasets"),
}
"""The libraries of each program, which are rewritten for it."""

_GPT = """\
import tempfile
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

set_seed(0)
losses = []


class Log(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            losses.append(logs["loss"])


gpt = GPT2LMHeadModel(
    GPT2Config(
        n_layer=2, n_head=2, n_embd=32, vocab_size=64, n_positions=32,
        resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
    )
)
arguments = dict(
    output_dir=tempfile.mkdtemp(), max_steps=5, per_device_train_batch_size=4, logging_steps=1,
    report_to=[], save_strategy="no", disable_tqdm=True, learning_rate=1e-2,
)
"""

_TRAINER = (
    _GPT
    + """
rows = [{"input_ids": (ids := torch.randint(0, 64, (16,))), "labels": ids} for _ in range(32)]
trainer = Trainer(gpt, TrainingArguments(**arguments), train_dataset=rows, callbacks=[Log()])
trainer.train()
print("RESULT", next(gpt.parameters()).device, losses)
"""
)

_LORA = (
    _GPT
    + """
from peft import LoraConfig, get_peft_model

model = get_peft_model(gpt, LoraConfig(r=4, target_modules=["c_attn"], lora_dropout=0.0)).cuda()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
ids = torch.randint(0, 64, (4, 16)).cuda()
for _ in range(5):
    loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
print("RESULT", next(model.parameters()).device, losses)
"""
)

_SFT = (
    _GPT
    + """
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

words = ["<pad>", "<eos>", "<unk>", *(f"w{i}" for i in range(40))]
tokens = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
tokens.pre_tokenizer = pre_tokenizers.Whitespace()
tokens = PreTrainedTokenizerFast(
    tokenizer_object=tokens, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
)
texts = [" ".join(f"w{i}" for i in torch.randint(0, 40, (12,)).tolist()) for _ in range(32)]
trainer = SFTTrainer(
    gpt,
    SFTConfig(**arguments, max_length=32, bf16=False, gradient_checkpointing=False),
    train_dataset=Dataset.from_dict({"text": texts}),
    processing_class=tokens,
    callbacks=[Log()],
)
trainer.train()
print("RESULT", next(gpt.parameters()).device, losses)
"""
)

_NET = """\
import torch

torch.manual_seed(0)
losses = []
x = torch.randn(64, 8)
rows = torch.utils.data.TensorDataset(x, x.sum(1, keepdim=True))
loader = torch.utils.data.DataLoader(rows, batch_size=16)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
"""

_ACCELERATE = (
    _NET
    + """
from accelerate import Accelerator

accelerator = Accelerator()
net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
for a, b in loader:
    loss = torch.nn.functional.mse_loss(net(a), b)
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
print("RESULT", next(net.parameters()).device, losses)
"""
)

_LIGHTNING = (
    _NET
    + """
import lightning


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = net

    def training_step(self, batch, index):
        loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[1])
        losses.append(loss.item())
        self.where = loss.device
        return loss

    def configure_optimizers(self):
        return optimizer


module = Module()
trainer = lightning.Trainer(
    accelerator="gpu" if torch.cuda.is_available() else "cpu", devices=1, max_epochs=1, logger=False,
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(module, loader)
print("RESULT", module.where, losses)
"""
)

PROGRAMS = {
    "transformers Trainer": _TRAINER,
    "accelerate": _ACCELERATE,
    "accelerate launch": _ACCELERATE,
    "lightning": _LIGHTNING,
    "peft LoRA": _LORA,
    "trl SFTTrainer": _SFT,
}
