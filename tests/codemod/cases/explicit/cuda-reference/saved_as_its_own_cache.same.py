import torch


class Rows:
    def __init__(self, table):
        self.found = table.values


class Tables:
    def fill(self):
        rows, rest = Rows(self.table), Rows(self.rest)
        torch.save(rows, self.folder / "train_rows")
        torch.save(rest, self.folder / "test_rows")

    def read(self, part):
        return torch.load(self.folder / f"{part}_rows", weights_only=False)
