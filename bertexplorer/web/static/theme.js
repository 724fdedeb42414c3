// Dark or light: as the address asks (?__theme=dark), else as the browser does. It runs before the page is painted.
const asked = new URLSearchParams(location.search).get("__theme");
const preferred = matchMedia("(prefers-color-scheme: dark)");

function paint() {
  const dark = ["dark", "light"].includes(asked) ? asked === "dark" : preferred.matches;
  document.body.classList.toggle("dark", dark);
}

preferred.addEventListener("change", paint);
paint();
