# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven through the pipe of its debugging protocol: loads a page, runs expressions in it, and keeps
what it complains of."""
import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CHROMIUM = shutil.which("chromium")


class Browser:
    """Of one page; its files are in the directory `home`. `complaints`: errors and warnings of the console, and exceptions."""

    def __init__(self, url, home, patience=100):
        self.patience, self.complaints, self.number, self.unread = patience, [], 0, b""
        to_read, self.to = os.pipe()
        self.come, to_write = os.pipe()

        def place():  # 3 and 4 are where the browser looks
            high = [os.dup2(fd, 60 + i) for i, fd in enumerate((to_read, to_write))]
            for i, fd in enumerate(high):
                os.dup2(fd, 3 + i)

        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
             f"--user-data-dir={home}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=place,
            close_fds=False, start_new_session=True, env={**os.environ, "HOME": home})
        os.close(to_read)
        os.close(to_write)
        self.session = None
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Runtime", "Log", "Page"):
            self.call(domain + ".enable")
        self.loaded = False
        self.call("Page.navigate", url=url)
        while not self.loaded:
            self.note(self.message())

    def close(self):
        """Its processes are gone afterwards: one that is left would still write into its directory."""
        try:
            self.session = None
            self.call("Browser.close")
            self.process.wait(self.patience)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            pass
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.to)
        os.close(self.come)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def message(self):
        deadline = time.monotonic() + self.patience
        while b"\0" not in self.unread:
            if not select.select([self.come], [], [], max(0, deadline - time.monotonic()))[0]:
                raise AssertionError(f"the browser said nothing for {self.patience} s")
            more = os.read(self.come, 1 << 16)
            if not more:
                raise AssertionError(f"the browser ended with {self.process.wait()}")
            self.unread += more
        text, self.unread = self.unread.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            self.note(answer)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def note(self, event):
        told = event.get("params", {})
        if event.get("method") == "Page.loadEventFired":
            self.loaded = True
        elif event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(told["exceptionDetails"].get("exception", {}).get("description", str(told)))
        elif event.get("method") == "Log.entryAdded" and told["entry"]["level"] in ("error", "warning"):
            self.complaints.append(told["entry"]["text"])
        elif event.get("method") == "Runtime.consoleAPICalled" and told["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([argument.get("value") for argument in told["args"]]))

    def run(self, expression):
        """The value of an expression; a promise is waited for."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise AssertionError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression):
        """Waits until an expression is true."""
        deadline = time.monotonic() + self.patience
        while not self.run(expression):
            if time.monotonic() > deadline:
                raise AssertionError(f"{expression} did not become true in {self.patience} s; {self.complaints}")
            time.sleep(0.05)

    def key(self, key):
        """Presses a key where the focus is."""
        codes = {"Enter": ("\r", 13), "ArrowLeft": ("", 37), "ArrowRight": ("", 39), "Tab": ("", 9)}
        text, code = codes.get(key, (key, 0))
        pressed = {"key": key, "windowsVirtualKeyCode": code, "text": text}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **pressed)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def write(self, text):
        """Text into the field that has the focus."""
        self.call("Input.insertText", text=text)

    def drag(self, begin, end):
        """From one point of the window to another."""
        for kind, (x, y), buttons in (("mouseMoved", begin, 0), ("mousePressed", begin, 1), ("mouseMoved", end, 1),
                                      ("mouseReleased", end, 0)):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=buttons, clickCount=1)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: browser.py PAGE.html PICTURE.png    (what a window of 1200 x 900 shows of a page)")
    with tempfile.TemporaryDirectory() as home, Browser("file://" + os.path.abspath(sys.argv[1]), home) as shown:
        shown.resize(1200, 900)
        shown.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        shown.picture(sys.argv[2])


if __name__ == "__main__":
    main()
