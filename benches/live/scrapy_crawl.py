"""Crawls one site with Scrapy and its standard link extractor: scrapy_crawl.py URL CONCURRENCY.

Collects links only: no items, no pipelines. Depth and offsite statistics, cookies and retries are off, as they are
(or as little as they do) in the other crawlers.
"""
import sys
from urllib.parse import urlsplit

import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor


class Links(scrapy.Spider):
    name = "links"

    def __init__(self, url, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = [url]
        self.extractor = LinkExtractor(allow_domains=[urlsplit(url).netloc])

    def parse(self, response):
        if not isinstance(response, scrapy.http.HtmlResponse):
            return
        for link in self.extractor.extract_links(response):
            yield scrapy.Request(link.url, callback=self.parse)


def main():
    url, concurrency = sys.argv[1], int(sys.argv[2])
    process = CrawlerProcess(
        {
            "CONCURRENT_REQUESTS": concurrency,
            "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,
            "DOWNLOAD_DELAY": 0,
            "ROBOTSTXT_OBEY": False,
            "COOKIES_ENABLED": False,
            "RETRY_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "LOG_LEVEL": "ERROR",
            "USER_AGENT": "scrapy-yardstick",
        }
    )
    process.crawl(Links, url=url)
    process.start()


if __name__ == "__main__":
    main()
