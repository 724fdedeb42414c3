(file) => {
  // Save the file that was made; its link stays on the page.
  if (!file) return;
  const link = document.createElement("a");
  link.href = file.url;
  link.download = file.orig_name;
  link.click();
}
