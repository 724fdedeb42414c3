"""The board of a class: on a small projector, reopened, and with a second tab; and a teacher's own question."""

import re

from playwright.sync_api import Browser, expect

from tests.browser.conftest import opened
from tests.browser.test_class import press, teaching


def test_the_board_fits_a_small_projector_and_can_be_reopened(browser: Browser, address: str) -> None:
    with teaching(browser, address) as (teacher, code):
        expect(teacher.locator(".join")).to_contain_text("What is inside? · 3 questions")
        teacher.set_viewport_size({"width": 1280, "height": 720})
        expect(teacher.get_by_role("button", name="Start the vote")).to_be_in_viewport(ratio=1)
        for width in (390, 1280):
            teacher.set_viewport_size({"width": width, "height": 720})
            box = teacher.locator(".join .code").evaluate(
                "e => { const r = document.createRange(); "
                "r.selectNodeContents(e); const b = r.getBoundingClientRect(); return [b.left, b.right]; }"
            )
            assert box[0] >= 0 and box[1] <= width + 20, "all six letters; a space follows the last one"
        teacher.goto(address + "learn")
        teacher.get_by_role("link", name=f"Back to your class {code}").click()
        teacher.wait_for_url(f"**/learn?class={code}")
        press(teacher, "Start the vote")
        expect(teacher.get_by_role("button", name="Close the vote")).to_be_visible()


def test_a_peek_ends_when_another_tab_advances_the_class(browser: Browser, address: str) -> None:
    with teaching(browser, address) as (teacher, _):
        for name in ("Start the vote", "Close the vote", "Show the votes"):
            press(teacher, name)
        expect(teacher.locator(".shares")).to_have_count(1)
        step = 'JSON.stringify({ question: 0, phase: "closed1", to: "discuss" })'
        teacher.evaluate(f"""fetch("api/v1/class/" + location.href.slice(-6) + "/step", {{ method: "POST", body: {step},
            headers: {{ "content-type": "application/json" }} }}).then((reply) => reply.json())""")
        expect(teacher.get_by_role("button", name="Start the second vote")).to_be_visible()
        expect(teacher.locator(".shares")).to_have_count(0)


def test_a_suggested_question_is_fully_visible(browser: Browser, address: str) -> None:
    texts = "text=The+man+went+to+the+store.&pair=He+bought+a+gallon+of+milk."
    with opened(browser, f"{address}?view=next-sentence&{texts}") as page:
        page.get_by_role("button", name="Ask the class…").click()  # before the first answer, too
        box = page.locator("#ask-prompt")
        expect(box).to_have_value(re.compile("gallon of milk"))
        assert box.evaluate("box => box.scrollHeight <= box.clientHeight")


def test_the_door_is_closed_and_the_code_changed_on_the_board(browser: Browser, address: str) -> None:
    with teaching(browser, address) as (teacher, code):
        press(teacher, "Close the door")
        expect(teacher.locator(".next [role=status]")).to_contain_text("the door is closed to further phones")
        with opened(browser, f"{address}j/{code}", gone=True) as phone:  # its requests are refused
            expect(phone.locator("body")).to_contain_text("The door of this class is closed")
        press(teacher, "Open the door")
        teacher.on("dialog", lambda dialog: dialog.accept())
        teacher.get_by_role("button", name="Change the code").click()
        teacher.wait_for_url(lambda url: "class=" in url and code not in url)
        expect(teacher.locator(".join .code")).not_to_have_text(code)
        with opened(browser, f"{address}j/{code}", gone=True) as phone:  # its requests are refused
            expect(phone.locator("body")).to_contain_text("its code was changed")
            phone.get_by_role("textbox").fill(teacher.locator(".join .code").inner_text())
            phone.get_by_role("button", name="Join").click()
            expect(phone.locator("body")).to_contain_text("You are in")
