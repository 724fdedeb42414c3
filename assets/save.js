(payload) => {
  // Save what the server made as a file.
  if (!payload) return;
  const { name, content } = JSON.parse(payload);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: "text/plain;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
