"""QTI: the questions of a lesson as a package of QTI 2.1, which most learning platforms import.

The elements are those of IMS Question and Test Interoperability 2.1 (2012): an item for each question, a test with all
of them, and a manifest of IMS Content Packaging 1.1.
"""

from __future__ import annotations

import io
from xml.etree.ElementTree import Element, SubElement, indent, tostring
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.learn import grading
from bertexplorer.learn.export import EXPORTED_KINDS, NOT_XML
from bertexplorer.learn.lesson import Block, ParsedLesson
from bertexplorer.learn.numbers import in_percent
from bertexplorer.learn.prose import quoted

SCHEMAS = "http://www.imsglobal.org/xsd/"
QTI, PACKAGE = f"{SCHEMAS}imsqti_v2p1", f"{SCHEMAS}imscp_v1p1"  # names of the vocabularies; nothing is fetched
LOCATIONS = {
    QTI: f"{QTI} {SCHEMAS}qti/qtiv2p1/imsqti_v2p1.xsd",
    PACKAGE: f"{PACKAGE} {SCHEMAS}qti/qtiv2p1/qtiv2p1_imscpv1p2_v1p0.xsd",
}
MADE = (1980, 1, 1, 0, 0, 0)  # the time of every file, so that equal questions make equal packages


def package(answerer: Answerer, lesson: ParsedLesson, opening: State, checkpoint: str = "") -> bytes:
    """The questions as a ZIP of QTI 2.1, with the answers of *checkpoint*, which its title names. Raises ExplorerError
    for a question that the checkpoint cannot answer."""
    # 1. An item for each question.
    items: dict[str, Element] = {}
    for block in lesson.blocks:
        if block.kind in EXPORTED_KINDS:
            facts = grading.facts_for(answerer, block.link, opening, checkpoint)
            name = f"{lesson.slug}-{block.id}"
            items[name] = item(name, block, facts)

    # 2. The files: the list of all, the items, the test.
    names = list(items)
    title = f"{lesson.title} (answers of {checkpoint or opening.checkpoint})"
    files = {"imsmanifest.xml": manifest(lesson, names)}
    for name, element in items.items():
        files[f"{name}.xml"] = element
    files["test.xml"] = test(lesson, title, names)
    archive = io.BytesIO()
    with ZipFile(archive, "w", ZIP_DEFLATED) as target:
        for file, element in files.items():
            indent(element)
            target.writestr(ZipInfo(file, MADE), tostring(element, encoding="utf-8", xml_declaration=True))
    return archive.getvalue()


def item(name: str, block: Block, facts: grading.Facts) -> Element:
    """*block* as an item: one right choice with feedback, or a number with a tolerance."""
    root = of_schema("assessmentItem", QTI, identifier=name, title=text(quoted(block.prompt))[:200])
    root.attrib |= {"adaptive": "false", "timeDependent": "false"}
    if block.kind == "number":
        add_number(root, block, facts)
    else:
        add_choices(root, block, facts)
    return root


def add_choices(root: Element, block: Block, facts: grading.Facts) -> None:
    """Add the choices of *block*, the right one, and the feedback on each. Raises ExplorerError as `grading.grade`."""
    grades = [grading.grade(block, i, facts, grading.ATTEMPTS) for i in range(len(block.items))]
    right = [graded.right for graded in grades].index(True)  # grading refuses a question without one
    declare(root, "identifier", choice_name(right))
    SubElement(root, "outcomeDeclaration", identifier="FEEDBACK", cardinality="single", baseType="identifier")
    body = SubElement(root, "itemBody")
    asked = SubElement(body, "choiceInteraction", responseIdentifier="RESPONSE", shuffle="false", maxChoices="1")
    SubElement(asked, "prompt").text = text(quoted(block.prompt))
    for i, choice in enumerate(block.items):
        element = SubElement(asked, "simpleChoice", identifier=choice_name(i), fixed="true")
        element.text = text(quoted(choice.text))
    processing = process(root, "match", {})
    SubElement(SubElement(processing, "setOutcomeValue", identifier="FEEDBACK"), "variable", identifier="RESPONSE")
    for i, graded in enumerate(grades):
        if graded.text:
            shown = {"outcomeIdentifier": "FEEDBACK", "identifier": choice_name(i), "showHide": "show"}
            SubElement(root, "modalFeedback", shown).text = text(quoted(graded.text))


def add_number(root: Element, block: Block, facts: grading.Facts) -> None:
    """Add the question of *block* for a number, in per cent if it asks for that, with the number and the tolerance."""
    key = grading.number_key(block, facts)
    scale = 100 if in_percent(block.prompt) else 1
    width = f"{scale * grading.tolerance(block, key):.4g}"
    declare(root, "float", f"{scale * key:.4g}")
    body = SubElement(root, "itemBody")
    SubElement(body, "p").text = text(quoted(block.prompt))
    SubElement(SubElement(body, "p"), "textEntryInteraction", responseIdentifier="RESPONSE", expectedLength="12")
    process(root, "equal", {"toleranceMode": "absolute", "tolerance": f"{width} {width}"})


def choice_name(number: int) -> str:
    return f"CHOICE_{number + 1}"


def declare(root: Element, kind: str, answer: str) -> None:
    """Add the response, whose right value is *answer*, and the score."""
    response = SubElement(root, "responseDeclaration", identifier="RESPONSE", cardinality="single", baseType=kind)
    SubElement(SubElement(response, "correctResponse"), "value").text = answer
    score = SubElement(root, "outcomeDeclaration", identifier="SCORE", cardinality="single", baseType="float")
    SubElement(SubElement(score, "defaultValue"), "value").text = "0"


def process(root: Element, comparison: str, how: dict[str, str]) -> Element:
    """Add the rule that an answer equal to the right one, by *comparison*, scores 1; return the rules."""
    processing = SubElement(root, "responseProcessing")
    rule = SubElement(SubElement(processing, "responseCondition"), "responseIf")
    compared = SubElement(rule, comparison, how)
    SubElement(compared, "variable", identifier="RESPONSE")
    SubElement(compared, "correct", identifier="RESPONSE")
    value = SubElement(SubElement(rule, "setOutcomeValue", identifier="SCORE"), "baseValue", baseType="float")
    value.text = "1"
    return processing


def test(lesson: ParsedLesson, title: str, names: list[str]) -> Element:
    """A test with all items, in order."""
    root = of_schema("assessmentTest", QTI, identifier=f"{lesson.slug}-test", title=text(title))
    part = SubElement(root, "testPart", identifier="part", navigationMode="nonlinear", submissionMode="individual")
    section = SubElement(part, "assessmentSection", identifier="section", title=text(lesson.title), visible="true")
    for name in names:
        SubElement(section, "assessmentItemRef", identifier=name, href=f"{name}.xml")
    return root


def manifest(lesson: ParsedLesson, names: list[str]) -> Element:
    """The list of the files of the package."""
    root = of_schema("manifest", PACKAGE, identifier=f"{lesson.slug}-manifest")
    about = SubElement(root, "metadata")
    SubElement(about, "schema").text = "QTIv2.1 Package"
    SubElement(about, "schemaversion").text = "1.0.0"
    SubElement(root, "organizations")
    resources = SubElement(root, "resources")
    add_resource(resources, f"{lesson.slug}-test", "test.xml", "imsqti_test_xmlv2p1", names)
    for name in names:
        add_resource(resources, name, f"{name}.xml", "imsqti_item_xmlv2p1", [])
    return root


def add_resource(resources: Element, name: str, file: str, kind: str, needs: list[str]) -> None:
    """Add a file of the package to *resources*. *needs*: the names of the resources that it refers to."""
    resource = SubElement(resources, "resource", identifier=f"resource-{name}", type=kind, href=file)
    SubElement(resource, "file", href=file)
    for other in needs:
        SubElement(resource, "dependency", identifierref=f"resource-{other}")


def of_schema(name: str, schema: str, **attributes: str) -> Element:
    """The root of a document of *schema*."""
    instance = {"xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance", "xsi:schemaLocation": LOCATIONS[schema]}
    return Element(name, {"xmlns": schema, **instance, **attributes})


def text(words: str) -> str:
    """*words* without characters that XML does not know."""
    return NOT_XML.sub("", words)
