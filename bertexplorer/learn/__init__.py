"""Lessons: questions about live views, whose answers are computed from the checkpoint in use.

expressions.py     the small, closed language in which lessons query facts
front_matter.py    the fields at the beginning of a lesson
lesson.py          the parser of lessons, Markdown files with questions in them
prose.py           Markdown as a tree of the few elements that a lesson may use
numbers.py         a number as a person types it, and as an answer shows it
grading.py         answers graded against the checkpoint's output
recording.py       recorded training runs that lessons replay
translation.py     the texts of a lesson in another language
catalogue.py       all lessons: those of the package, a teacher's own and uploaded ones
classroom.py       classes that vote before BERT answers: permissions, phases, limits
room.py            one class, and the file that keeps it
class_votes.py     the votes of a class as a table
class_questions.py the questions for a class, and the checkpoint's answers
answer_keys.py     the answers, computed in advance for a copy without a server
export.py          the questions of a lesson, for other systems
check.py           checks of a lesson's links, keys and claims
"""
