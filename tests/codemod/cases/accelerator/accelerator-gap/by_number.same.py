import torch


class Predictor:
    def to_ctx(self, data, ctx=0):
        return {key: value.to(ctx) for key, value in data.items()}

    def predict(self, model, data):
        model = model.cuda()
        return model(**self.to_ctx(data))
