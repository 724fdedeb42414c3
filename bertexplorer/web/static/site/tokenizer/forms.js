// The normalisation forms of Unicode (NFC, NFD, NFKC, NFKD), each character with the one that it comes from.

/** *text* in a *form*. *classes*: `combining`: character -> its combining class, if that is above 0; `nfd` and `nfkd`: the characters that
 *  these forms take apart. */
export function inForm(text, form, { combining, nfd, nfkd }) {
  const parts = form.startsWith("NFK")
    ? decompose(text.chars, "NFKD", nfkd)
    : decompose(text.chars, "NFD", nfd);
  const sorted = inOrder(parts, combining);
  return text.transform(form.endsWith("C") ? compose(sorted, nfd) : sorted);
}

/** [character, change] of each part of *chars*; *divided*: the characters that the *form* takes apart. */
function decompose(chars, form, divided) {
  return chars.flatMap((char) => {
    if (char < "\x80" || !divided.test(char)) return [[char, 0]];
    return [...char.normalize(form)].map((one, i) => [one, Number(i > 0)]);
  });
}

/** *parts* with marks in the order of their combining classes; among equals as they were. */
function inOrder(parts, combining) {
  const out = [];
  let marks = [];
  const settle = () => {
    out.push(...marks.sort((a, b) => a[2] - b[2]));
    marks = [];
  };
  for (const [char, change] of parts) {
    const rank = classOf(char, combining);
    if (!rank) settle();
    marks.push([char, change, rank]);
  }
  settle();
  return out;
}

function classOf(char, combining) {
  return char < "\u0300" ? 0 : (combining.get(char) ?? 0);
}

/** *parts* with each mark composed with the character before it, where one stands for both. */
function compose(parts, nfd) {
  const out = [];
  /** @type {any[] | null} */
  let base = null; // the character that marks are composed with
  let last = -1, // the class of the last mark that was not
    marks = [];
  const settle = () => {
    if (base) out.push(base);
    out.push(...marks);
    marks = [];
    last = -1;
  };
  for (const [char, change, rank] of parts) {
    if (!base) {
      if (rank) out.push([char, change]);
      else base = [char, change];
      continue;
    }
    const both = last < 0 || last < rank ? composed(base[0], char, nfd) : null;
    if (both) base = [both, base[1] + change - 1];
    else if (rank) {
      marks.push([char, change]);
      last = rank;
    } else {
      settle();
      base = [char, change];
    }
  }
  settle();
  return out;
}

function composed(first, second, nfd) {
  if (second < "\u0300") return null;
  const [both, ...more] = (first + second).normalize("NFC");
  if (more.length || both === undefined) return null;
  return nfd.test(both) ? both : null;
}
