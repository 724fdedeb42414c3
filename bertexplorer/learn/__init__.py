"""Lessons: questions about live views, whose answers are computed from the checkpoint in use.

expressions.py  the closed language in which lessons ask for facts
lesson.py       a Markdown file with questions in it, read into parts
prose.py        Markdown as a tree of the few elements that a lesson may use
grading.py      an answer judged by what the checkpoint does
recording.py    runs that were trained once and are replayed in lessons
translation.py  the texts of a lesson in another language
shelf.py        all lessons: those of the package, a teacher's own and uploaded ones
classroom.py    a class that votes before BERT answers
asking.py       the questions for a class, and what the checkpoint answers
keys.py         the answers computed in advance, for a copy without a server
export.py       the questions of a lesson for other systems
check.py        whether a lesson can be taught: links, keys, claims
"""
