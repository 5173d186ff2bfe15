#!/usr/bin/env python3
"""usage: page_test.py PROGRAM [--pictures FOLDER]

Looks at the observer's page with a real browser, as a person does: each view, the actions, the keyboard, a narrow and a
dark screen, 100,000 processes, a node that ends. With the Debian packages chromium and chromium-driver, which
`scripts/setup --browser` installs; where they are missing it is skipped (77). --pictures also writes a picture of each view.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

TOKEN = 'a-token-of-this-test'
PROCESSES = 100_000
ELEMENT = 'element-6066-11e4-a52e-4f735466cecf'  # the key of W3C's WebDriver
ENTER, ESCAPE = '\ue007', '\ue00c'
VIEWS = ['node', 'processes', 'pools', 'tree', 'waits', 'events', 'cluster']


class Browser:
    """A session of WebDriver: what a test does with it, and no more."""

    def __init__(self, driver_port, profile):
        self.base = f'http://127.0.0.1:{driver_port}/session'
        options = {'args': ['--headless=new', '--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu',
                            f'--user-data-dir={profile}', '--window-size=1280,900']}
        self.base += '/' + self.ask('POST', '', {'capabilities': {'alwaysMatch': {
            'browserName': 'chrome', 'goog:chromeOptions': options, 'goog:loggingPrefs': {'browser': 'ALL'},
            'unhandledPromptBehavior': 'ignore'}}})['sessionId']

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {'Content-Type': 'application/json'}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)['value']
        except urllib.error.HTTPError as error:
            raise RuntimeError(f'{method} {path}: ' + json.load(error)['value']['message'].split('\n')[0]) from None

    def open(self, url):
        self.ask('POST', '/url', {'url': url})

    def run(self, script, *arguments):
        return self.ask('POST', '/execute/sync', {'script': script, 'args': list(arguments)})

    def find(self, css):
        return self.ask('POST', '/element', {'using': 'css selector', 'value': css})[ELEMENT]

    def click(self, css):
        """The page makes its tables anew as long as it is live: an element may be gone before the click."""
        end = time.monotonic() + 60
        while True:
            try:
                self.ask('POST', f'/element/{self.find(css)}/click', {})
                return
            except RuntimeError as error:
                if 'stale element' not in str(error) or time.monotonic() > end:
                    raise

    def type(self, css, text):  # into what stays
        self.ask('POST', f'/element/{self.find(css)}/value', {'text': text})

    def press(self, key):
        keys = [{'type': 'keyDown', 'value': key}, {'type': 'keyUp', 'value': key}]
        self.ask('POST', '/actions', {'actions': [{'type': 'key', 'id': 'keyboard', 'actions': keys}]})

    def text(self, css):
        return self.run('const found = document.querySelector(arguments[0]); return found ? found.innerText : ""', css)

    def is_shown(self, css):
        return self.run('const found = document.querySelector(arguments[0]); '
                        'return found !== null && found.checkVisibility()', css)

    def picture(self):
        return base64.b64decode(self.ask('GET', '/screenshot'))

    def dark(self, is_dark):
        media = [{'name': 'prefers-color-scheme', 'value': 'dark' if is_dark else 'light'}]
        self.ask('POST', '/goog/cdp/execute', {'cmd': 'Emulation.setEmulatedMedia', 'params': {'features': media}})

    def width(self, pixels):
        self.ask('POST', '/goog/cdp/execute', {'cmd': 'Emulation.setDeviceMetricsOverride', 'params': {
            'width': pixels, 'height': 900, 'deviceScaleFactor': 1, 'mobile': False}})

    def log(self):
        return [line['message'] for line in self.ask('POST', '/se/log', {'type': 'browser'})]

    def answer(self, agree):
        self.ask('POST', '/alert/' + ('accept' if agree else 'dismiss'), {})


class Test:
    def __init__(self, browser, url, pictures):
        self.browser, self.url, self.pictures = browser, url, pictures
        self.failed = 0

    def check(self, what, is_right, seen=''):
        print(f'  {"ok  " if is_right else "FAIL"}  {what}' + ('' if is_right else f' (seen: {seen!r:.400})'), flush=True)
        self.failed += not is_right

    def wait(self, what, seen, is_right=bool):
        """Waits until what is seen is right; the time is for slow machines, and only spent when the test fails."""
        end = time.monotonic() + 60
        value = seen()
        while not is_right(value) and time.monotonic() < end:
            time.sleep(0.05)
            value = seen()
        self.check(what, is_right(value), value)

    def shows(self, css, text, what):
        self.wait(what, lambda: self.browser.text(css), lambda seen: text in seen)

    def view(self, name):
        self.browser.click(f'nav a[href="#{name}-view"]')
        self.wait(f'the view "{name}" is shown, and no other one', lambda: [
            view for view in VIEWS if self.browser.is_shown(f'#{view}-view')], lambda seen: seen == [name])

    def draw(self, name):
        if self.pictures:
            with open(os.path.join(self.pictures, name + '.png'), 'wb') as file:
                file.write(self.browser.picture())

    def token(self):
        self.browser.open(self.url)
        self.wait('without a token the page asks for one', lambda: self.browser.is_shown('#token-form'))
        self.check('and shows nothing of the node', self.browser.text('#cards') == '', self.browser.text('#cards'))
        self.browser.type('#token', 'another-token-of-16' + ENTER)
        self.shows('#problem', 'a token is needed', 'a wrong token is refused')
        self.browser.type('#token', TOKEN + ENTER)
        self.shows('#node', 'observed@localhost', 'the right one opens the page')
        self.wait('and the form is gone', lambda: not self.browser.is_shown('#token-form'))

    def views(self):
        for name, css, text in [
                ('node', '#behaviors', 'observed::Idle'), ('pools', '#pools', 'of 4 workers busy'),
                ('tree', '#tree', 'counter'), ('waits', '#waits', 'observed::Customer'),
                ('events', '#events', 'prices'), ('processes', '#processes', 'observed::'),
                ('cluster', '#cluster-count', '0 connections')]:
            self.view(name)
            self.shows(css, text, f'with {text}')
            self.draw(name)
        self.view('events')
        self.shows('#groups', 'shops', 'groups beside the events')

    def processes(self):
        self.view('processes')
        self.browser.press('/')
        self.wait('"/" leads to the search', lambda: self.browser.run('return document.activeElement.id'),
                  lambda seen: seen == 'search')
        self.browser.type('#search', 'observed::Idle')
        self.shows('#count', f'{PROCESSES:,} of', f'{PROCESSES:,} processes are found')
        rows = self.browser.run('return document.querySelectorAll("#processes tr").length')
        self.check('of which 100 are in the page', rows == 101, rows)
        asked = self.browser.run(
            'window.asked = []; window.trueFetch = fetch; '
            'fetch = (path, ...more) => { asked.push(path); return trueFetch(path, ...more); }; '
            'for (const text of ["<", "<s", "<script>"]) { $("search").value = text; $("search").oninput(); } '
            'return asked')
        self.check('while somebody types nobody is asked', asked == [], asked)
        self.wait('then one process has such a name', lambda: self.browser.text('#count'),
                  lambda seen: seen.startswith('1 of '))
        asked = self.browser.run('return asked.filter((path) => /search=%3Cs?&/.test(path))')
        self.check('and nobody was asked for what was not typed to its end', asked == [], asked)
        self.shows('#processes', '<script>', 'a name that is a script is a text')
        self.check('and does not run', 'taken' not in self.browser.run('return document.title'))

    def done(self, action):
        self.wait(f'{action} is done, and told with the process', lambda: self.browser.text('#done'),
                  lambda seen: seen.startswith(action + ' <') and seen.endswith(': done'))

    def actions(self):
        self.browser.click('#processes tr:nth-child(2) td button')
        self.shows('#process', 'behavior\nobserved::Idle', 'a click opens a process')
        self.browser.click('#process .actions button:nth-child(2)')
        self.done('Suspend')
        self.shows('#process', 'suspended\ntrue', 'as is seen')
        self.browser.click('#process .actions button:nth-child(3)')
        self.done('Resume')
        self.shows('#process', 'suspended\nfalse', 'as is seen')
        self.browser.click('#process .actions button:nth-child(5)')
        self.browser.answer(agree=False)
        self.shows('#process', 'state\nidle', 'who says no kills nothing')
        self.browser.click('#process .actions button:nth-child(5)')
        self.browser.answer(agree=True)
        self.done('Kill')
        self.check('in the run of the program that the page shows', self.browser.run(
            'return asked.some((path) => /^.api.kill[?]pid=[0-9]+&creation=[0-9]+$/.test(path))'))
        self.shows('#process', 'there is no such process', 'it is gone')
        self.browser.press(ESCAPE)
        self.wait('Escape closes it', lambda: not self.browser.is_shown('#process'))
        self.wait('and leaves the focus in the list, whose row is gone', lambda: self.browser.run(
            'return document.activeElement.tagName'), lambda seen: seen in ('A', 'BUTTON'))
        self.browser.run('root = "999999999"')
        self.view('tree')
        self.shows('#problem', 'no such process', 'a tree whose root has ended')
        self.browser.run('open("1")')
        self.wait('keeps no process from being shown', lambda: self.browser.is_shown('#process'))
        self.browser.press(ESCAPE)
        self.browser.run('root = ""; refresh()')
        self.wait('and is there again', lambda: not self.browser.is_shown('#problem'))

    def runs(self):
        self.view('processes')
        self.browser.run('$("search").value = "observed::Teller"; refresh()')
        self.shows('#processes', 'observed::Teller', 'one process tells very much')
        self.browser.click('#processes tr:nth-child(2) td button')
        self.shows('#process', 'item 199\nx\ninspection\nand 50 more', 'what is left out is counted')
        self.browser.run('creation += 1; refresh()')
        self.wait('a process of another run of the program is closed', lambda: not self.browser.is_shown('#process'))
        self.shows('#processes', 'observed::Teller', 'and those of this run are there')
        self.browser.run('fetch = async () => new Response("", {status: 503}); refresh()')
        self.shows('#problem', 'the observer answers 503', 'a refusal without a text is told')
        self.browser.run('fetch = trueFetch; refresh()')
        self.wait('until there is an answer', lambda: not self.browser.is_shown('#problem'))

    def pools(self):
        self.view('pools')
        self.shows('.pool:first-of-type', 'of 4 workers busy', 'a pool of four')
        self.browser.click('.pool:first-of-type .actions button:nth-child(1)')
        self.shows('.pool:first-of-type', 'of 5 workers busy', 'has a worker more after a click')
        self.browser.click('.pool:first-of-type .actions button:nth-child(2)')
        self.shows('.pool:first-of-type', 'of 4 workers busy', 'and one fewer after another one')
        members = self.browser.run('return document.querySelectorAll(".pool:first-of-type .member").length')
        self.check('each with its bar', members == 4, members)
        self.browser.run('document.querySelector(".pool:nth-of-type(2) h2 button").focus()')
        self.browser.press(ENTER)
        self.shows('#process', '2..8 workers, a wait of 20 ms', 'its heading opens how it chooses its size')
        self.browser.press(ESCAPE)
        self.wait('Escape leads back to its heading', lambda: self.browser.run(
            'return document.activeElement === document.querySelector(".pool:nth-of-type(2) h2 button")'))
        self.check('when another pool goes, the focus stays with its own', self.browser.run(
            'const button = document.querySelector(".pool:nth-of-type(2) .actions button"); button.focus(); '
            'replace($("pools"), ...Array.from($("pools").children).slice(1)); '
            'return document.activeElement === button'))
        self.browser.run('refresh()')

    def screens(self):
        for view in VIEWS:
            self.browser.click(f'nav a[href="#{view}-view"]')
            self.browser.width(400)
            wide = self.browser.run('return document.documentElement.scrollWidth')
            self.check(f'"{view}" fits into 400 pixels', wide <= 400, wide)
            if view == 'pools':
                self.draw('narrow')
            self.browser.width(1280)
        color = 'return getComputedStyle(document.body).backgroundColor'
        self.browser.dark(False)
        light = self.browser.run(color)
        self.browser.dark(True)
        self.check('a dark screen is dark', light != self.browser.run(color), light)
        self.browser.click('nav a[href="#node-view"]')
        self.draw('dark')
        self.browser.dark(False)

    def end(self, program):
        complaints = [line for line in self.browser.log() if '401' not in line and '404' not in line]
        self.check('the browser complains of nothing', not complaints, complaints)
        program.stdin.close()
        self.check('the node ends', program.wait(timeout=60) == 0)
        self.wait('and the page says so', lambda: self.browser.is_shown('#problem'))


def start(command, is_port):
    """A program that tells its port, and that port."""
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for line in program.stdout:
        if port := is_port(line):
            return program, int(port)
    sys.exit(f'{command[0]} has not started')


def main():
    if len(sys.argv) not in (2, 4) or (len(sys.argv) == 4 and sys.argv[2] != '--pictures'):
        sys.exit(__doc__)
    for tool in 'chromium', 'chromedriver':
        if not shutil.which(tool):
            print(f'skipped: there is no {tool} (scripts/setup --browser)')
            sys.exit(77)
    program, port = start([sys.argv[1], TOKEN, str(PROCESSES)], str.strip)
    driver, driver_port = start(['chromedriver', '--port=0'], lambda line: line.rstrip('.\n').rpartition(' on port ')[2]
                                if ' on port ' in line and 'successfully' in line else '')
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = None
        try:
            browser = Browser(driver_port, profile)
            test = Test(browser, f'http://127.0.0.1:{port}/', sys.argv[3] if len(sys.argv) == 4 else None)
            for step in test.token, test.views, test.processes, test.actions, test.runs, test.pools, test.screens:
                print(step.__name__)
                step()
            print('end')
            test.end(program)
        finally:
            try:
                if browser:
                    browser.ask('DELETE', '')
            finally:
                program.kill()
                driver.kill()
    sys.exit(f'{test.failed} checks failed' if test.failed else 0)


if __name__ == '__main__':
    main()
