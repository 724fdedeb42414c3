() => {
  // Put [MASK] where the cursor is, in the box that was typed in last.
  const boxes = [...document.querySelectorAll("#text textarea, #pair textarea")];
  const box = boxes.find((b) => b === window.lastBox) || boxes[0];
  const from = box.selectionStart ?? box.value.length, to = box.selectionEnd ?? from;
  const before = box.value.slice(0, from), after = box.value.slice(to);
  const mask = (before && !/\s$/.test(before) ? " " : "") + "[MASK]" + (after && !/^[\s.,;:!?]/.test(after) ? " " : "");
  box.value = before + mask + after;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  box.focus();
  box.setSelectionRange(from + mask.length, from + mask.length);
}
