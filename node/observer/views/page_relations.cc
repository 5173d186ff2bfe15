#include <ergon/node/observer/views/page.h>

namespace ergon::node {
namespace {

constexpr std::string_view kPageRelations = R"page('use strict';
let root = '';  // the id of the process at the top of the tree
let typing = 0;  // asks when nobody has typed for a while

const label = (row) => row.name || row.behavior || '(ended)';
const pids = (list, inAll) => list.map((one) => one.pid).join(' ') +
  (inAll > list.length ? ' and ' + number(inAll - list.length) + ' more' : '');
const counted = (shown, inAll, what) => inAll > shown
  ? number(shown) + ' of ' + number(inAll) + ' ' + what : number(inAll) + ' ' + what;

async function showTree() {
  $('tree-top').hidden = root === '';  // first: the process at the top may have ended
  const tree = await ask('/api/tree?' + new URLSearchParams(root ? {root} : {}));
  $('tree-count').textContent = counted(tree.processes.length, tree.in_all, 'processes') + ', ' +
    number(tree.at_top) + (root ? ' children of the first' : ' without a living parent');
  table($('tree'), [
    {title: 'Process', value: (row) => row.pid, level: (row) => row.depth, click: (row) => open(row.id)},
    {title: 'Level', number: true, value: (row) => row.depth + 1},
    {title: 'Name or behaviour', value: label},
    {title: 'State', value: (row) => row.state},
    {title: 'Children', value: (row) => row.children ? number(row.children) : '',
     click: (row) => { root = row.id; refresh(); }},
    {title: 'Links', value: (row) => pids(row.links, row.links_in_all)},
  ], tree.processes);
}

async function showWaits() {
  const found = await ask('/api/waits');
  $('waits-count').textContent = counted(found.waits.length, found.in_all, 'processes wait in a call') + '; ' +
    (found.circles === 0 ? 'no circle' : found.circles === 1 ? '1 circle' : number(found.circles) + ' circles');
  table($('waits'), [
    {title: 'Circle', value: (row) => row.circle ? 'circle ' + number(row.circle) : ''},
    {title: 'Process', value: (row) => row.from.pid, click: (row) => open(row.from.id)},
    {title: 'Name or behaviour', value: (row) => label(row.from)},
    {title: 'Waits for', value: (row) => row.to.pid || 'another node',
     click: (row) => { if (row.to.pid) open(row.to.id); }},
    {title: 'Name or behaviour', value: (row) => row.to.pid ? label(row.to) : ''},
    {title: 'Request', value: (row) => row.message},
    {title: 'For', value: (row) => seconds(row.seconds)},
    {title: 'Who answers', value: (row) => row.certain ? 'this one' : 'maybe another one'},
  ], found.waits);
}

async function showEvents() {
  const found = await ask('/api/events');
  $('events-count').textContent = counted(found.events.length, found.events_in_all, 'events');
  table($('events'), [
    {title: 'Event', value: (row) => row.name},
    {title: 'Producer', value: (row) => row.pid, click: (row) => open(row.id)},
    {title: 'Subscribers', number: true, value: (row) => row.subscribers},
    {title: 'On other nodes', number: true, value: (row) => row.subscribers_elsewhere},
    {title: 'Published', number: true, value: (row) => row.published},
    {title: 'Kept', value: (row) => number(row.buffered) + ' of ' + number(row.buffer)},
  ], found.events);
  $('groups-count').textContent = counted(found.groups.length, found.groups_in_all, 'groups');
  table($('groups'), [
    {title: 'Group', value: (row) => row.name},
    {title: 'Members', number: true, value: (row) => row.members_in_all},
    {title: 'Here', number: true, value: (row) => row.members_here},
    {title: 'Who', value: (row) => pids(row.members, row.members_in_all)},
  ], found.groups);
}

async function showCluster() {
  const found = await ask('/api/cluster');
  $('cluster-count').textContent = counted(found.connections.length, found.in_all, 'connections');
  table($('cluster'), [
    {title: 'Node', value: (row) => row.node},
    {title: 'State', value: (row) => row.up ? 'up' : 'being made'},
    {title: 'Runs', value: (row) => row.ergon ? 'Ergon' : row.up ? 'Erlang' : ''},
    {title: 'Bytes waiting', number: true, value: (row) => row.queued_bytes},
    {title: 'At most', number: true, value: (row) => row.most_queued_bytes},
    {title: 'Senders waiting', number: true, value: (row) => row.waiting_senders},
    {title: 'Not believed', number: true, value: (row) => row.not_believed},
  ], found.connections);
}

$('tree-top').onclick = () => { root = ''; refresh(); };

const shows = {
  'node-view': showNode, 'processes-view': showProcesses, 'pools-view': showPools,
  'tree-view': showTree, 'waits-view': showWaits, 'events-view': showEvents,
  'cluster-view': showCluster,
};
const current = () => shows[location.hash.slice(1)] ? location.hash.slice(1) : 'node-view';

async function refresh() {
  clearTimeout(timer);
  clearTimeout(typing);
  if (asking) asking.abort();
  const mine = asking = new AbortController();
  const tell = (problem) => { $('problem').textContent = problem; $('problem').hidden = problem === ''; };
  const late = setTimeout(() => tell('the node has not answered for 40 s'), 40000);
  let problem = '';
  // The process, too, if the view cannot be had; and first the node, which may be another run of the program.
  for (const show of new Set([showNode, shows[current()], showProcess])) {
    try { await show(); } catch (error) { problem = problem || error.message; }
    if (mine !== asking) break;
  }
  clearTimeout(late);
  if (mine !== asking) return;  // another refresh has begun
  tell(problem);
  clearTimeout(timer);
  if ($('live').checked && !document.hidden) timer = setTimeout(refresh, period);
}
function choose() {
  for (const view of Object.keys(shows)) $(view).hidden = view !== current();
  for (const link of document.querySelectorAll('nav a')) {
    if (link.hash === '#' + current()) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  refresh();
}

$('search-form').onsubmit = (event) => { event.preventDefault(); refresh(); };
// Not with each key: a question that is given up is answered nevertheless, and looks at all processes.
$('search').oninput = () => {
  clearTimeout(timer);
  clearTimeout(typing);
  typing = setTimeout(refresh, 300);
};
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
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey ||
      ['INPUT', 'SELECT'].includes(event.target.tagName)) return;
  event.preventDefault();
  location.hash = 'processes-view';
  choose();  // the search has to be visible for the focus
  $('search').focus();
};
window.onhashchange = choose;
choose();
)page";

}  // namespace

std::string_view PageRelations() { return kPageRelations; }

}  // namespace ergon::node
