// Crawls one site with Crawlee's CheerioCrawler: crawl.js URL CONCURRENCY. Collects links only: nothing is stored, no retries,
// no session pool, no limit on the size of the queue.
import { CheerioCrawler, Configuration, EnqueueStrategy, LogLevel, log } from "@crawlee/cheerio";

const [url, concurrency] = [process.argv[2], Number(process.argv[3])];
log.setLevel(LogLevel.ERROR);
const config = new Configuration({ persistStorage: false, availableMemoryRatio: 0.8 });
const crawler = new CheerioCrawler(
    {
        minConcurrency: concurrency,
        maxConcurrency: concurrency,
        maxRequestRetries: 0,
        useSessionPool: false,
        respectRobotsTxtFile: false,
        failedRequestHandler: () => {},
        async requestHandler({ enqueueLinks }) {
            await enqueueLinks({ strategy: EnqueueStrategy.SameHostname });
        },
    },
    config,
);
await crawler.run([url]);
