// A button that shows or hides the element that it controls. Gradio's accordion would show the settings of all tasks when it opens.
const button = element.querySelector("button");
button.addEventListener("click", () => {
  const open = button.getAttribute("aria-expanded") !== "true";
  button.setAttribute("aria-expanded", open);
  document.getElementById(button.getAttribute("aria-controls")).classList.toggle("open", open);
});
