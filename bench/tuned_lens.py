"""Fit the tuned lens of the bundled checkpoint anew, and write it beside its weights.

    python -m bench.tuned_lens

To be run when mini, the built-in sentences or the fit change; tests/views/test_tuned_lens.py compares them."""

from bench.common import MINI
from bertexplorer.engine.tuned_lens import save_tuned_lens
from bertexplorer.model.load import load
from bertexplorer.views.layers.tuned_lens import fit_on_samples


def main() -> None:
    checkpoint = load(MINI, precision="fp32", device="cpu")
    lens = fit_on_samples(checkpoint)
    save_tuned_lens(lens, checkpoint, MINI)
    print(f"{lens.positions} masks, {lens.seconds:.0f} s, KL {lens.raw} -> {lens.tuned}")


if __name__ == "__main__":
    main()
