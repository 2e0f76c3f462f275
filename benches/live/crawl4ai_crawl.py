"""Crawls one site with crawl4ai over HTTP, without a browser: crawl4ai_crawl.py URL CONCURRENCY.

Its HTTP strategy fetches, its LXML strategy reads; which links come next is decided here, breadth-first, because its own deep
crawl fetches level by level with a dispatcher that waits for free memory. No Markdown is made, nothing is cached.
"""
import asyncio
import sys
from urllib.parse import urldefrag, urlsplit

from crawl4ai import AsyncWebCrawler, CacheMode, CrawlerRunConfig, HTTPCrawlerConfig
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy
from crawl4ai.content_scraping_strategy import LXMLWebScrapingStrategy
from crawl4ai.markdown_generation_strategy import MarkdownGenerationStrategy


class NoMarkdown(MarkdownGenerationStrategy):
    def generate_markdown(self, *args, **kwargs):
        from crawl4ai.models import MarkdownGenerationResult

        return MarkdownGenerationResult(
            raw_markdown="", markdown_with_citations="", references_markdown="", fit_markdown="", fit_html=""
        )


async def main():
    start, concurrency = sys.argv[1], int(sys.argv[2])
    host = urlsplit(start).netloc
    config = CrawlerRunConfig(
        cache_mode=CacheMode.BYPASS, scraping_strategy=LXMLWebScrapingStrategy(), markdown_generator=NoMarkdown(),
        verbose=False, log_console=False, check_robots_txt=False,
    )
    strategy = AsyncHTTPCrawlerStrategy(browser_config=HTTPCrawlerConfig(follow_redirects=True))
    queue, known = asyncio.Queue(), {start}
    queue.put_nowait(start)

    async def work(crawler):
        while True:
            url = await queue.get()
            try:
                result = await crawler.arun(url, config=config)
                for link in (result.links or {}).get("internal", []) + (result.links or {}).get("external", []):
                    to = urldefrag(link.get("href", ""))[0]
                    if urlsplit(to).netloc == host and to not in known:
                        known.add(to)
                        queue.put_nowait(to)
            except Exception:
                # A page that cannot be fetched or read has no links.
                pass
            finally:
                queue.task_done()

    async with AsyncWebCrawler(crawler_strategy=strategy, verbose=False) as crawler:
        workers = [asyncio.create_task(work(crawler)) for _ in range(concurrency)]
        await queue.join()
        for worker in workers:
            worker.cancel()


asyncio.run(main())
