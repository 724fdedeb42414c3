async () => {
  // Copy the address that restores this view.
  const button = document.querySelector("#export-link");
  try { await navigator.clipboard.writeText(location.href); } catch { prompt("Copy this link", location.href); }
  const label = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 1500);
}
