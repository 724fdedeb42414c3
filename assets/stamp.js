// When it was sent, by the clock of the page: answers may be asked for in one order and reach the server in another.
(memory, ...rest) => [{ ...memory, sent: performance.now() }, ...rest.slice(0, COUNT - 1)]
