"""Ten texts that tell recipes apart: short and long ones, with capitals, accents and two sentences."""

from bertexplorer.answers.sample_sentences import SAMPLE

LONG = " ".join(SAMPLE)
TEXTS: tuple[tuple[str, str], ...] = (  # (what it is for, the text)
    ("one word", "rivers"),
    ("a question", "Which river flows through Paris?"),
    ("capitals", "NASA and the BBC reported it on Monday."),
    ("no capitals", "the cat sat on the mat and looked out of the window."),
    ("two sentences", "The bank raised its rates. Savers were glad, and borrowers were not."),
    ("accents and signs", "Zoë's café in São Paulo charges €4.50 for a crème brûlée!"),
    ("about 90 tokens: cut at 64", " ".join(SAMPLE[:9])),
    ("about 200 tokens: cut at 128", LONG),
    ("about 400 tokens: cut at 256", f"{LONG} {' '.join(reversed(SAMPLE))}"),
    ("about 800 tokens: cut at 512", " ".join([LONG, *SAMPLE[10:], *SAMPLE[:10], LONG, *reversed(SAMPLE)])),
)
