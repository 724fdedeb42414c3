// Dark or light, as the browser asks for. It runs before the page is painted.
const dark = matchMedia("(prefers-color-scheme: dark)"), paint = () => document.body.classList.toggle("dark", dark.matches);
dark.addEventListener("change", paint);
paint();
