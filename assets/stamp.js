// Which event of this page it is, from 1: requests need not reach the server in the order they were sent.
(memory, ...rest) => {
  window.events = (window.events || 0) + 1;
  return [{ ...memory, event: window.events }, ...rest.slice(0, COUNT - 1)];
}
