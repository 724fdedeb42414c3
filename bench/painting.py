"""Real browsers among the people of `bench.load`: from a typed text to its painted answer."""

import asyncio
import time

from playwright.async_api import Page, async_playwright

from tests.browser.conftest import FLAGS, chromium

PAINTED = """word => document.querySelector(".strip")?.textContent.includes(word)
    && document.querySelector("#caption .said")?.textContent.includes("It would put")
    && document.querySelector("#figure .marks, #figure .main-svg")
    && !document.querySelector("[aria-busy=true]")"""
DRAWN = "#figure .marks, #figure .main-svg"
WORDS = ("apple", "bread", "cloud", "dance", "earth", "flower", "glass", "horse", "island", "jungle", "knife", "lemon")


async def painted(page: Page, word: str) -> float:
    """Milliseconds from typing a sentence with *word* to its painted figure."""
    started = time.perf_counter()
    await page.locator("#text textarea").fill(f"The {word} is a very old [MASK].")
    await page.wait_for_function(PAINTED, arg=word, polling="raf")
    return 1000 * (time.perf_counter() - started)


async def loaded(url: str) -> list[str]:
    """The scripts, styles and fonts that a browser fetches to show the page."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            page = await browser.new_page()
            await page.goto(url)
            await page.wait_for_selector(DRAWN)
            names = await page.evaluate("performance.getEntriesByType('resource').map(one => one.name)")
            return [name.removeprefix(url) for name in names if "/gradio_api/" not in name and "/api/" not in name]
        finally:
            await browser.close()


async def browse(url: str, browsers: int, seconds: float, every_s: float) -> list[float]:
    """The times measured by *browsers* pages in separate contexts, each with a new text every *every_s* seconds."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        try:
            pages = [await (await browser.new_context()).new_page() for _ in range(browsers)]
            for page in pages:
                await page.goto(url)
                await page.wait_for_selector(DRAWN)

            async def sit(page: Page, after_s: float) -> list[float]:
                result: list[float] = []
                end = time.perf_counter() + seconds
                await asyncio.sleep(after_s)
                while time.perf_counter() < end:
                    next_at = time.perf_counter() + every_s
                    result.append(await painted(page, WORDS[len(result) % len(WORDS)]))
                    await asyncio.sleep(max(0.0, next_at - time.perf_counter()))
                return result

            sat = await asyncio.gather(*(sit(page, every_s * n / browsers) for n, page in enumerate(pages)))
            return [ms for item in sat for ms in item]
        finally:
            await browser.close()
