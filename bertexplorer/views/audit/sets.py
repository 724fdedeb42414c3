"""Texts to begin with, written by the project: each shows something that a file may have."""

from typing import Literal

from bertexplorer.answers.vectors import LabelledLine

Name = Literal["reviews with faults", "German", "medicine", "many scripts", "a long report"]

GOOD, BAD = "good", "bad"
REVIEWS = (
    ("It was a wonderful and warm film.", GOOD),
    ("The actors were brilliant.", GOOD),
    ("Dull and boring from beginning to end.", BAD),
    ("I left before the end, and so did my friends.", BAD),
    ("The actors were  brilliant.", GOOD),  # repeats, but for a space
    ("It was a wonderful, warm film.", GOOD),
    ("I left before the end and so did my friends.", BAD),  # nearly repeats
    ("Dull and boring from beginning to end.", GOOD),  # with another label
    ("The story is clever and beautifully told. " * 80, GOOD),  # cut
    ("Der Film war langweilig, und die Musik viel zu laut.", BAD),
    ("Ten out of ten 🦄🦄", GOOD),
    ("The music is lovely.", GOOD),
)
GERMAN = (
    "Die Katze schläft auf dem warmen Fensterbrett.",
    "Wir fahren im Sommer mit dem Zug ans Meer.",
    "Der Bäcker öffnet seinen Laden um sechs Uhr morgens.",
    "Heute Nachmittag regnet es wahrscheinlich wieder.",
    "Meine Großmutter erzählt gern Geschichten von früher.",
    "Das Krankenhaus liegt hinter dem alten Rathaus.",
    "Im Herbst sammeln die Kinder bunte Blätter.",
    "Er hat seinen Schlüssel in der Küche vergessen.",
)
MEDICINE = (
    "The patient was given acetylsalicylic acid and clopidogrel.",
    "An echocardiogram showed hypertrophic cardiomyopathy.",
    "She has hypothyroidism and takes levothyroxine every morning.",
    "Thrombocytopenia was noticed after the second cycle of chemotherapy.",
    "The biopsy confirmed glioblastoma.",
    "Cholecystectomy was performed without complications.",
    "He complained of headache and nausea.",
    "Immunoglobulin was given for Guillain-Barré syndrome.",
)
SCRIPTS = (
    "The cat sleeps on the warm stone.",
    "Кошка спит на тёплом камне.",
    "Η γάτα κοιμάται στη ζεστή πέτρα.",
    "القطة تنام على الحجر الدافئ.",
    "猫は温かい石の上で眠っている。",
    "고양이가 따뜻한 돌 위에서 잔다.",
    "बिल्ली गरम पत्थर पर सोती है।",
    "החתול ישן על האבן החמה.",
)
PARAGRAPH = (
    "The bridge was built in three years, and it was paid for by the towns on both sides of the river. Stone came from "
    "the hills in the north and was brought by boat. "
)
REPORT = (PARAGRAPH * 3, PARAGRAPH * 12, PARAGRAPH * 18, "It was opened in spring.", PARAGRAPH)


def plain(texts: tuple[str, ...]) -> tuple[LabelledLine, ...]:
    """*texts* without labels."""
    return tuple(LabelledLine(text.strip()) for text in texts)


SETS: dict[Name, tuple[LabelledLine, ...]] = {
    "reviews with faults": tuple(LabelledLine(text.strip(), label) for text, label in REVIEWS),
    "German": plain(GERMAN),
    "medicine": plain(MEDICINE),
    "many scripts": plain(SCRIPTS),
    "a long report": plain(REPORT),
}
