"""Collections of the focused web crawler Gleaner.

>>> import gleaner_crawler as gleaner
>>> db = gleaner.open("db")                       # doctest: +SKIP
>>> db.pandas()[["url", "title", "score"]]        # doctest: +SKIP
"""

from ._backtest import Backtest, backtest
from ._collection import Collection, open
from ._crawl import Crawl, crawl
from ._page import Chunk, Page
from ._program import Problem, program
from ._server import RemoteCollection, Server

__all__ = [
    "Backtest",
    "Chunk",
    "Collection",
    "Crawl",
    "Page",
    "Problem",
    "RemoteCollection",
    "Server",
    "backtest",
    "crawl",
    "open",
    "program",
]
__version__ = "0.4.0"
