"""The batches of the next step, made in a thread while those of this step are learnt from."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Prefetched(Generic[T]):
    """The same as *make*, a function of a step's number, but it starts on step n + 1 when asked for step n.

    Whatever *make* returns must follow from the number alone. It runs in one other thread, never twice at a time; an
    error is raised when its step is asked for."""

    def __init__(self, make: Callable[[int], T]) -> None:
        self.make = make
        self.thread = ThreadPoolExecutor(1, "prefetch")
        self.coming: dict[int, Future[T]] = {}

    def __call__(self, step: int) -> T:
        now = self.coming.pop(step, None) or self.thread.submit(self.make, step)
        self.coming = {step + 1: self.thread.submit(self.make, step + 1)}
        return now.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.thread.shutdown(cancel_futures=True)
