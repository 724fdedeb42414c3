// Activation functions, by the names that torch gives their modules.

/** The error function, to 1.2e-7 (Press et al., Numerical Recipes, 6.2). */
function erf(x) {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const series = [
    0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418,
    0.37409196, 1.00002368, -1.26551223,
  ];
  const tail = t * Math.exp(-x * x + series.reduce((total, one) => total * t + one, 0));
  return x < 0 ? tail - 1 : 1 - tail;
}

export const ACTIVATIONS = {
  Identity: (x) => x,
  Tanh: Math.tanh,
  ReLU: (x) => Math.max(0, x),
  GELU: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  "GELU by tanh": (x) =>
    0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  SiLU: (x) => x / (1 + Math.exp(-x)),
  Sigmoid: (x) => 1 / (1 + Math.exp(-x)),
};
