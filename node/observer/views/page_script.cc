#include <ergon/node/observer/views/page.h>

namespace ergon::node {
namespace {

constexpr std::string_view kPageScript = R"page('use strict';
// All that comes from the node is put into the page as text (textContent), never as HTML.
const $ = (id) => document.getElementById(id);
const period = 2000;
let token = '';
let sort = 'queued';
let shown = null;  // the id of the process that is shown
let last = null;   // the node's figures before, for rates
let timer = 0;
let asking = null;  // stops what refresh asks for, when it is refreshed anew
let actions = false;  // whether the observer takes them
let creation = 0;  // the number of this run of the program: ids of processes begin anew with the next one

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

async function request(path, method, signal) {
  const headers = token ? {Authorization: 'Bearer ' + token} : {};
  const answer = await fetch(path, {method, headers, signal, cache: 'no-store', credentials: 'omit'});
  $('token-form').hidden = answer.status !== 401;
  if (!answer.ok) throw new Error((await answer.text()).trim() || 'the observer answers ' + answer.status);
  return answer;
}
async function ask(path) {
  return (await request(path, 'GET', asking ? asking.signal : undefined)).json();
}
// The parameters that name a process of the run that the page shows.
const processOf = (id, more) => '?' + new URLSearchParams({pid: id, ...(creation ? {creation} : {}), ...more});
// Asks the node to change something, and tells what became of it.
async function act(what, path, question) {
  if (question && !confirm(question)) return;
  try {
    await request(path, 'POST');
    $('done').textContent = what + ': done';
  } catch (error) {
    $('done').textContent = what + ': ' + error.message;
  }
  $('done').hidden = false;
  await refresh();
}
// Buttons are made anew all the time. One with the same key, which tells what it is about, is the same.
function keyed(button, ...key) {
  button.dataset.key = key.join(' ');
  return button;
}
function focusOn(key, within) {
  const found = Array.from(within.querySelectorAll('button')).find((button) => button.dataset.key === key);
  if (found) found.focus({preventScroll: true});
  return found !== undefined && document.activeElement === found;  // it may be hidden
}
function actionButton(title, who, path, question) {
  const button = keyed(element('button', title), title, who);
  button.onclick = () => act(title + ' ' + who, path, question);
  return button;
}

// The focus stays where it was; nowhere, if that is gone.
function replace(into, ...children) {
  const focused = document.activeElement;
  const key = into.contains(focused) ? focused.dataset.key : undefined;
  into.replaceChildren(...children);
  if (key !== undefined) focusOn(key, into);
}
let opener = '';  // the key of the button that has opened the process
function open(id) {
  opener = document.activeElement.dataset.key || '';
  shown = id;
  refresh().then(() => $('process').focus());
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
      const button = keyed(element('button', column.title), 'sort', column.sort);
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
    const line = element('tr', undefined, row.circle ? 'circle' : '');
    for (const column of columns) {
      const cell = element('td', undefined, column.number ? 'number' : '');
      if (column.level) cell.style.paddingLeft = 0.6 + 1.2 * Math.min(column.level(row), 10) + 'rem';
      const title = column.value(row);
      if (column.click && title !== '') {
        const button = keyed(element('button', title), column.title, row.id || title, row.name || '');
        button.onclick = () => column.click(row);
        cell.append(button);
        cell.title = title;
      } else {
        cell.textContent = column.number ? number(title) : title;
        cell.title = cell.textContent;
      }
      line.append(cell);
    }
    body.append(line);
  }
  replace(into, head, body);
}

// What the page shows with an id is no longer there.
function forgetProcesses() {
  closeProcess();
  root = '';
  last = null;
  for (const list of ['processes', 'pools', 'tree', 'waits', 'events']) replace($(list));
}
async function showNode() {
  const node = await ask('/api/node');
  if (node.creation !== creation) forgetProcesses();
  creation = node.creation;
  $('node').textContent = node.node;
  actions = node.actions;
  document.title = node.node + ' - Ergon';
  // Figures have the age of the node; what is told again has the same, and the rates of before.
  const time = node.uptime_seconds;
  const rates = last && time === last.time ? last.rates : {};
  const rate = (name, value) => {
    if (last && time > last.time) rates[name] = (value - last[name]) / (time - last.time);
    return rates[name] === undefined ? '...' : number(Math.round(rates[name]));
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
    card('memory', node.program.resident_bytes === null ? 'not known' : bytes(node.program.resident_bytes)),
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
  last = {time, rates, handled: node.messages.handled, turns: node.dispatcher.turns};
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
    {title: 'PID', sort: 'newest', value: (row) => row.pid, click: (row) => open(row.id)},
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
}

async function showProcess() {
  $('process').hidden = shown === null;
  const id = shown;
  const mine = asking;
  if (id === null) return;
  let label = 'process ' + id;
  const list = element('dl');
  const put = (name, value) => list.append(element('dt', name), element('dd', value));
  try {
    const process = await ask('/api/process' + processOf(id));
    label = process.pid + (process.name ? ' ' + process.name : '');
    for (const [name, value] of Object.entries(process)) {
      if (name.startsWith('inspection') || name === 'id') continue;
      put(name.replaceAll('_', ' '),
          Array.isArray(value) ? value.map((other) => other.pid).join(' ') : value);
    }
    const items = Object.entries(process.inspection);
    for (const [name, value] of items) put(name, value);
    const more = process.inspection_in_all - items.length;
    if (more > 0) put('inspection', 'and ' + number(more) + ' more');
  } catch (error) {
    put('process', error.message);
  }
  if (shown !== id || mine !== asking) return;  // another one was chosen meanwhile
  const close = keyed(element('button', 'Close'), 'close');
  close.onclick = closeProcess;
  const buttons = element('div', undefined, 'actions');
  buttons.append(close);
  if (actions) {
    const query = processOf(id);
    buttons.append(
      actionButton('Suspend', label, '/api/suspend' + query), actionButton('Resume', label, '/api/resume' + query),
      actionButton('Stop', label, '/api/stop' + query, 'Stop ' + label + ', after the messages that wait?'),
      actionButton('Kill', label, '/api/kill' + query, 'Kill ' + label + '? Its messages are lost.'));
  }
  replace($('process'), buttons, list);
}
function closeProcess() {
  if (shown === null) return;
  shown = null;
  $('process').hidden = true;
  if (['INPUT', 'SELECT'].includes(document.activeElement.tagName)) return;  // there somebody goes on typing
  if (!focusOn(opener, document)) document.querySelector('nav a[aria-current]').focus();
}

function poolElement(pool) {
  const made = element('div', undefined, 'pool');
  // What it tells of itself: its options, and why it has changed its size.
  const heading = element('h2', pool.label + ' ');
  const details = keyed(element('button', pool.pid), 'pool', pool.id);
  details.onclick = () => open(pool.id);
  heading.append(details);
  made.append(heading);
  const cards = element('div');
  cards.append(element('p', pool.busy + ' of ' + pool.workers + ' workers busy, ' +
    (pool.leaving > 0 ? number(pool.leaving) + ' leaving, ' : '') +
    number(pool.queued) + ' queued, ' + number(pool.handled) + ' handled, ' +
    number(pool.restarts) + ' restarts, ' + number(pool.refused) + ' refused, ' +
    number(pool.lost) + ' lost'));
  made.append(cards);
  if (actions) {
    const to = (workers) => '/api/resize' + processOf(pool.id, {workers});
    const buttons = element('div', undefined, 'actions');
    const fewer = actionButton('One worker fewer', pool.pid, to(pool.workers - 1));
    fewer.disabled = pool.workers < 2;
    buttons.append(actionButton('One worker more', pool.pid, to(pool.workers + 1)), fewer);
    made.append(buttons);
  }
  const members = element('div', undefined, 'members');
  const longest = Math.max(1, ...pool.members.map((member) => member.queued));
  for (const member of pool.members) {
    const item = element('div', undefined, member.busy ? 'member busy' : 'member');
    const track = element('div', undefined, 'track');
    const bar = element('div');
    bar.style.width = Math.max(member.busy ? 4 : 0, 100 * member.queued / longest) + '%';
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
  if (found.unanswered > 0) {
    made.unshift(element('p', 'Not answered in time: ' + number(found.unanswered) +
      (found.unanswered === 1 ? ' pool' : ' pools') + ', with old figures or none.'));
  } else if (made.length === 0) {
    made.push(element('p', 'There are no pools.'));
  }
  if (found.in_all > found.pools.length) {
    made.push(element('p', number(found.in_all - found.pools.length) + ' more pools are not shown.'));
  }
  replace($('pools'), ...made);
}
)page";

}  // namespace

std::string_view PageScript() { return kPageScript; }

}  // namespace ergon::node
