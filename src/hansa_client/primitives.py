"""What differs between a thread and an event loop.

The synchronous client is generated from the asynchronous one (`python -m tests.house.synchronous`): a name that begins with
`Async` or `async_` loses that prefix.
"""

import asyncio
import threading
import time

AsyncLock = asyncio.Lock
Lock = threading.Lock

async_sleep = asyncio.sleep
sleep = time.sleep

__all__ = ["AsyncLock", "Lock", "async_sleep", "sleep"]
