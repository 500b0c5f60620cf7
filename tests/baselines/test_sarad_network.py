"""SARAD's network against its description: shapes, counts, gradients, permutation."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from alora_ts.baselines.sarad_network import SaradNetwork, association_descent
from alora_ts.errors import AloraError


def _tiny(variables: int = 3, window: int = 8, **sizes: int) -> SaradNetwork:
    torch.manual_seed(0)
    options = {"width": 8, "layers": 2, "heads": 2, "feed_forward": 16, "descent_width": 4}
    return SaradNetwork(variables=variables, window=window, **(options | sizes)).eval()


@pytest.mark.parametrize(("layers", "expected"), [(3, 9_568_674), (5, 15_873_442)])
def test_full_size_parameter_count(layers: int, expected: int) -> None:
    with torch.device("meta"):
        network = SaradNetwork(variables=38, window=100, layers=layers)
    assert sum(p.numel() for p in network.parameters()) == expected


@pytest.mark.parametrize("variables", [1, 3])
def test_association_rows_sum_to_one_and_descent_is_not_negative(variables: int) -> None:
    out = _tiny(variables)(torch.randn(5, 8, variables))
    assert out.association.shape == (5, 2, 2, variables, variables)
    torch.testing.assert_close(out.association.sum(-1), torch.ones(5, 2, 2, variables))
    assert (out.descent >= 0).all()
    assert out.descent.shape == out.expected_descent.shape == (5, 2, variables)


def test_descent_agrees_with_loops() -> None:
    association = torch.rand(2, 2, 3, 4, 4).softmax(-1)
    fast = association_descent(association)
    for b in range(2):
        for h in range(3):
            for key in range(4):
                lost = [
                    max(0.0, float(association[b, 0, h, q, key] - association[b, 1, h, q, key]))
                    for q in range(4)
                ]
                assert float(fast[b, h, key]) == pytest.approx(sum(lost), abs=1e-6)


def test_descent_loss_sends_no_gradient_into_the_encoder() -> None:
    network = _tiny()
    out = network(torch.randn(4, 8, 3))
    (out.descent - out.expected_descent).square().mean().backward()
    touched = {name for name, p in network.named_parameters() if p.grad is not None}
    assert touched == {"compress.weight", "compress.bias", "expand.weight", "expand.bias"}


def test_each_half_is_reconstructed_from_itself_alone() -> None:
    network = _tiny()
    window = torch.randn(1, 8, 3)
    changed = window.clone()
    changed[:, 4:] += 1
    before, after = network(window).reconstruction, network(changed).reconstruction
    torch.testing.assert_close(before[:, :4], after[:, :4])
    assert not torch.allclose(before[:, 4:], after[:, 4:])


def test_half_window_tokens_keep_their_time_order() -> None:
    network = _tiny()
    window = torch.randn(2, 8, 3)
    seen: list[Tensor] = []
    network.embed.register_forward_hook(lambda _m, inputs, _o: seen.append(inputs[0]))
    network(window)
    torch.testing.assert_close(seen[0].view(2, 2, 3, 4)[1, 1, 2], window[1, 4:, 2])


def test_shuffled_variables_with_shuffled_codes_shuffle_the_answer() -> None:
    network, shuffled = _tiny(4), _tiny(4)
    order = torch.tensor([2, 0, 3, 1])
    flat = torch.cat([head * 4 + order for head in range(2)])
    with torch.no_grad():
        shuffled.codes.copy_(network.codes[:, order])
        shuffled.compress.weight.copy_(network.compress.weight[:, flat])
        shuffled.expand.weight.copy_(network.expand.weight[flat])
        shuffled.expand.bias.copy_(network.expand.bias[flat])
    window = torch.randn(3, 8, 4)
    plain, moved = network(window), shuffled(window[:, :, order])
    torch.testing.assert_close(moved.reconstruction, plain.reconstruction[:, :, order])
    torch.testing.assert_close(moved.descent, plain.descent[:, :, order])
    torch.testing.assert_close(moved.expected_descent, plain.expected_descent[:, :, order])


def test_odd_window_is_refused() -> None:
    with pytest.raises(AloraError, match="even"):
        _tiny(window=7)


def test_errors_agree_with_loops() -> None:
    network = _tiny()
    window = torch.randn(2, 8, 3)
    with torch.no_grad():
        out = network(window)
        errors = out.errors(window)
    for b in range(2):
        series = [float(((window - out.reconstruction)[b, :, i] ** 2).mean()) for i in range(3)]
        gap = out.descent - out.expected_descent
        descent = [float((gap[b, :, i] ** 2).mean()) for i in range(3)]
        assert errors[b, 0].tolist() == pytest.approx([*series, sum(series) / 3], rel=1e-5)
        assert errors[b, 1].tolist() == pytest.approx([*descent, sum(descent) / 3], rel=1e-5)
