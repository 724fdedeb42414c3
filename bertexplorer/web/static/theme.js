// Dark or light: as the address asks (?__theme=dark), else as the browser does. It runs before the page is painted.
{
  // a block, as the names of a plain script would be those of the whole page
  const asked = new URLSearchParams(location.search).get("__theme");
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  const paint = () => {
    const dark = asked === "dark" || (asked !== "light" && preferred.matches);
    document.body.classList.toggle("dark", dark);
  };
  preferred.addEventListener("change", paint);
  paint();
}
