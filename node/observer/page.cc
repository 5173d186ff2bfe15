#include <ergon/node/observer/page.h>

namespace ergon::node {
namespace {

constexpr std::string_view kPageText = R"page(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Ergon</title>
<link rel="stylesheet" href="/observer.css">
<script src="/observer.js" defer></script>
</head>
<body>
<header>
<h1 id="node">Ergon</h1>
<nav aria-label="Views">
<a href="#node-view" accesskey="1">Node</a>
<a href="#processes-view" accesskey="2">Processes</a>
<a href="#pools-view" accesskey="3">Pools</a>
</nav>
<label><input type="checkbox" id="live" checked> live</label>
</header>
<p id="problem" role="alert" hidden></p>
<form id="token-form" hidden>
<label>Token <input type="password" id="token" autocomplete="off"></label>
<button>Use it</button>
</form>
<main>
<section id="node-view"><div id="cards"></div>
<h2>Behaviours</h2><div class="wide"><table id="behaviors"></table></div></section>
<section id="processes-view" hidden>
<form id="search-form" role="search">
<label>Search <input type="search" id="search" maxlength="200" placeholder="name or behaviour"></label>
<label>Rows <select id="limit"><option>50</option><option selected>100</option><option>500</option>
<option>1000</option></select></label>
<span id="count" role="status"></span>
</form>
<div class="wide"><table id="processes"></table></div>
<div id="process" hidden tabindex="-1"></div>
</section>
<section id="pools-view" hidden><div id="pools"></div></section>
</main>
</body>
</html>
)page";

constexpr std::string_view kPageStyle = R"page(:root {
  color-scheme: light dark;
  --back: #fff; --front: #1b1f24; --soft: #5b6470; --line: #d5dae0; --card: #f4f6f8; --accent: #0a58ca;
  --busy: #c2570c; --idle: #2f855a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #14171b; --front: #e6e9ed; --soft: #9aa4b0; --line: #333a43; --card: #1d2127; --accent: #7ab0ff;
    --busy: #f2994a; --idle: #5fc08f;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--front); font: 15px/1.45 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center; padding: .6rem 1rem;
  border-bottom: 1px solid var(--line); }
h1 { font-size: 1.05rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1rem; }
nav { display: flex; gap: 1rem; flex: 1; }
a { color: var(--accent); }
a[aria-current] { color: inherit; font-weight: 600; }
main { padding: 1rem; max-width: 1400px; margin: 0 auto; }
#problem { margin: 0; padding: .5rem 1rem; background: var(--busy); color: #000; }
#cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(160px, 1fr)); gap: .6rem; }
.card { background: var(--card); border-radius: 6px; padding: .55rem .75rem; overflow-wrap: anywhere; }
.card b { display: block; font-size: 1.2rem; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: .85rem; }
.card.bad b { color: var(--busy); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap;
  max-width: 26rem; overflow: hidden; text-overflow: ellipsis; }
th.number, td.number { text-align: right; }
th button, td button { all: unset; cursor: pointer; color: var(--accent); }
th button[aria-pressed=true] { font-weight: 700; text-decoration: underline; }
:focus-visible, th button:focus-visible, td button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
form { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; margin: 0 0 .75rem; }
#token-form { padding: 1rem; }
input, select, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
  border-radius: 4px; padding: .2rem .4rem; }
#process { background: var(--card); border-radius: 6px; padding: .75rem 1rem; margin-top: 1rem; }
dl { display: grid; grid-template-columns: minmax(7rem, auto) 1fr; gap: .15rem 1rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.pool { margin-bottom: 1.5rem; }
.members { display: grid; grid-template-columns: repeat(auto-fill, minmax(170px, 1fr)); gap: .3rem .8rem; }
.member { font-size: .8rem; color: var(--soft); }
.track { height: .7rem; background: var(--card); border: 1px solid var(--line); border-radius: 3px; }
.track div { height: 100%; background: var(--idle); }
.member.busy .track div { background: var(--busy); }
)page";

constexpr std::string_view kPageScript = R"page('use strict';
// All that comes from the node is put into the page as text (textContent), never as HTML.
const $ = (id) => document.getElementById(id);
const views = ['node-view', 'processes-view', 'pools-view'];
const period = 2000;
let token = '';
let sort = 'queued';
let shown = null;  // the id of the process that is shown
let last = null;   // the node's figures before, for rates
let timer = 0;

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = String(text);
  if (className) made.className = className;
  return made;
}
const number = (value) => Number(value).toLocaleString('en');
const seconds = (value) => value < 120 ? value.toFixed(1) + ' s' : value < 7200
  ? (value / 60).toFixed(1) + ' min' : (value / 3600).toFixed(1) + ' h';
const bytes = (value) => (value / 1048576).toFixed(1) + ' MiB';

async function ask(path) {
  const headers = token ? {Authorization: 'Bearer ' + token} : {};
  const answer = await fetch(path, {headers, cache: 'no-store', credentials: 'omit'});
  $('token-form').hidden = answer.status !== 401;
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

function card(name, value, bad) {
  const made = element('div', undefined, bad ? 'card bad' : 'card');
  made.append(element('b', value), element('span', name));
  return made;
}

function table(into, columns, rows) {
  const head = element('tr');
  for (const column of columns) {
    const cell = element('th', undefined, column.number ? 'number' : '');
    cell.scope = 'col';
    if (column.sort) {
      const button = element('button', column.title);
      button.setAttribute('aria-pressed', String(column.sort === sort));
      button.onclick = () => { sort = column.sort; refresh(); };
      cell.append(button);
    } else {
      cell.textContent = column.title;
    }
    head.append(cell);
  }
  const body = document.createDocumentFragment();
  for (const row of rows) {
    const line = element('tr');
    for (const column of columns) {
      const cell = element('td', undefined, column.number ? 'number' : '');
      if (column.open) {
        const button = element('button', column.value(row));
        button.onclick = () => { shown = row.id; refresh().then(() => $('process').focus()); };
        cell.append(button);
      } else {
        cell.textContent = column.number ? number(column.value(row)) : column.value(row);
        cell.title = cell.textContent;
      }
      line.append(cell);
    }
    body.append(line);
  }
  // The focus stays where it was, by its place.
  const buttons = Array.from(into.querySelectorAll('button'));
  const focused = buttons.indexOf(document.activeElement);
  into.replaceChildren(head, body);
  const now = into.querySelectorAll('button');
  if (focused >= 0 && now[focused]) now[focused].focus();
}

async function showNode() {
  const node = await ask('/api/node');
  $('node').textContent = node.node;
  document.title = node.node + ' - Ergon';
  const time = performance.now() / 1000;
  const rate = (name, value) => {
    const before = last && last[name] !== undefined ? last : null;
    return before ? number(Math.round((value - before[name]) / (time - before.time))) : '...';
  };
  const dropped = Object.values(node.messages.dropped).reduce((sum, count) => sum + count, 0);
  const cards = [
    card('messages handled per second', rate('handled', node.messages.handled)),
    card('accepted', number(node.messages.accepted)),
    card('handled', number(node.messages.handled)),
    card('queued', number(node.messages.queued)),
    card('dropped', number(dropped), dropped > 0),
    card('unaccounted (0 at rest)', number(node.messages.unaccounted)),
    card('processes', number(node.processes.alive)),
    card('failed', number(node.processes.failed), node.processes.failed > 0),
    card('running / waiting', number(node.states.running) + ' / ' + number(node.states.waiting)),
    card('workers, ' + node.dispatcher.policy, number(node.dispatcher.workers)),
    card('ready for a worker', number(node.dispatcher.ready)),
    card('turns per second', rate('turns', node.dispatcher.turns)),
    card('steals', number(node.dispatcher.steals)),
    card('timers', number(node.timers)),
    card('memory', bytes(node.program.resident_bytes)),
    card('connections', number(node.connections.up)),
    card('up for', seconds(node.uptime_seconds)),
  ];
  for (const [reason, count] of Object.entries(node.messages.dropped)) {
    if (count > 0) cards.push(card('dropped: ' + reason.replace('_', ' '), number(count), true));
  }
  for (const turn of node.long_turns) {
    cards.push(card('a turn of ' + turn.behavior + ' ' + turn.pid, seconds(turn.seconds), true));
  }
  for (const application of node.applications) {
    cards.push(card('application ' + application.name, application.runs ? 'runs' : 'does not run',
                    !application.runs));
  }
  $('cards').replaceChildren(...cards);
  last = {time, handled: node.messages.handled, turns: node.dispatcher.turns};
  node.behaviors.sort((a, b) => b.queued - a.queued || b.processes - a.processes);
  table($('behaviors'), [
    {title: 'Behaviour', value: (row) => row.behavior},
    {title: 'Processes', number: true, value: (row) => row.processes},
    {title: 'Queued', number: true, value: (row) => row.queued},
    {title: 'Longest', number: true, value: (row) => row.longest},
    {title: 'Held', number: true, value: (row) => row.held},
  ], node.behaviors);
}

async function showProcesses() {
  const query = new URLSearchParams({sort, search: $('search').value, limit: $('limit').value});
  const found = await ask('/api/processes?' + query);
  $('count').textContent = number(found.matching) + ' of ' + number(found.in_all) + ' processes';
  table($('processes'), [
    {title: 'PID', sort: 'newest', open: true, value: (row) => row.pid},
    {title: 'Name', sort: 'name', value: (row) => row.name},
    {title: 'Behaviour', sort: 'behavior', value: (row) => row.behavior},
    {title: 'State', value: (row) => row.suspended ? row.state + ', suspended' : row.state},
    {title: 'Queued', sort: 'queued', number: true, value: (row) => row.queued + row.high},
    {title: 'Held', sort: 'held', number: true, value: (row) => row.held},
    {title: 'Handled', sort: 'handled', number: true, value: (row) => row.handled},
    {title: 'Running', sort: 'running', value: (row) => seconds(row.running_seconds)},
    {title: 'Handles', value: (row) => row.handles},
    {title: 'Waits for', value: (row) => row.waits_for},
  ], found.processes);
  await showProcess();
}

async function showProcess() {
  $('process').hidden = shown === null;
  if (shown === null) return;
  const list = element('dl');
  const put = (name, value) => list.append(element('dt', name), element('dd', value));
  try {
    const process = await ask('/api/process?' + new URLSearchParams({pid: shown}));
    for (const [name, value] of Object.entries(process)) {
      if (name === 'inspection' || name === 'id') continue;
      put(name.replaceAll('_', ' '),
          Array.isArray(value) ? value.map((other) => other.pid).join(' ') : value);
    }
    for (const [name, value] of Object.entries(process.inspection)) put(name, value);
  } catch (error) {
    put('process', error.message);
  }
  const close = element('button', 'Close');
  close.onclick = closeProcess;
  $('process').replaceChildren(close, list);
}
function closeProcess() {
  shown = null;
  $('process').hidden = true;
}

function poolElement(pool) {
  const made = element('div', undefined, 'pool');
  made.append(element('h2', pool.label + ' ' + pool.pid));
  const cards = element('div');
  cards.append(element('p', pool.busy + ' of ' + pool.workers + ' workers busy, ' +
    number(pool.queued) + ' queued, ' + number(pool.handled) + ' handled, ' +
    number(pool.restarts) + ' restarts, ' + number(pool.refused) + ' refused, ' +
    number(pool.lost) + ' lost'));
  made.append(cards);
  const members = element('div', undefined, 'members');
  const longest = Math.max(1, ...pool.members.map((member) => member.queued));
  for (const member of pool.members) {
    const busy = member.state === 'running' || member.state === 'waiting';
    const item = element('div', undefined, busy ? 'member busy' : 'member');
    const track = element('div', undefined, 'track');
    const bar = element('div');
    bar.style.width = Math.max(busy ? 4 : 0, 100 * member.queued / longest) + '%';
    track.append(bar);
    item.append(track, element('span', member.state + ', ' + number(member.queued) + ' queued, ' +
      number(member.handled) + ' handled'));
    item.title = member.pid;
    members.append(item);
  }
  made.append(members);
  return made;
}
async function showPools() {
  const found = await ask('/api/pools');
  const made = found.pools.map(poolElement);
  if (made.length === 0) made.push(element('p', 'There are no pools.'));
  if (found.in_all > found.pools.length) {
    made.push(element('p', number(found.in_all - found.pools.length) + ' more pools are not shown.'));
  }
  $('pools').replaceChildren(...made);
}

const shows = {'node-view': showNode, 'processes-view': showProcesses, 'pools-view': showPools};
const current = () => shows[location.hash.slice(1)] ? location.hash.slice(1) : 'node-view';

async function refresh() {
  clearTimeout(timer);
  try {
    await shows[current()]();
    $('problem').hidden = true;
  } catch (error) {
    $('problem').textContent = error.message;
    $('problem').hidden = false;
  }
  clearTimeout(timer);
  if ($('live').checked && !document.hidden) timer = setTimeout(refresh, period);
}
function choose() {
  for (const view of views) $(view).hidden = view !== current();
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === '#' + current()) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  refresh();
}

$('search-form').onsubmit = (event) => { event.preventDefault(); refresh(); };
$('search').oninput = refresh;
$('limit').onchange = refresh;
$('live').onchange = refresh;
$('token-form').onsubmit = (event) => {
  event.preventDefault();
  token = $('token').value;
  $('token').value = '';
  refresh();
};
document.onvisibilitychange = refresh;
document.onkeydown = (event) => {
  if (event.key === 'Escape') closeProcess();
  if (event.key !== '/' || ['INPUT', 'SELECT'].includes(event.target.tagName)) return;
  event.preventDefault();
  location.hash = 'processes-view';
  setTimeout(() => $('search').focus());
};
window.onhashchange = choose;
choose();
)page";

}  // namespace

std::string_view PageText() { return kPageText; }
std::string_view PageStyle() { return kPageStyle; }
std::string_view PageScript() { return kPageScript; }

}  // namespace ergon::node
