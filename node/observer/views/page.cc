#include <ergon/node/observer/views/page.h>

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
<script src="/relations.js" defer></script>
</head>
<body>
<header>
<h1 id="node">Ergon</h1>
<nav aria-label="Views">
<a href="#node-view" accesskey="1">Node</a>
<a href="#processes-view" accesskey="2">Processes</a>
<a href="#pools-view" accesskey="3">Pools</a>
<a href="#tree-view" accesskey="4">Tree</a>
<a href="#waits-view" accesskey="5">Waits</a>
<a href="#events-view" accesskey="6">Events</a>
<a href="#cluster-view" accesskey="7">Cluster</a>
</nav>
<label><input type="checkbox" id="live" checked> live</label>
</header>
<p id="problem" role="alert" hidden></p>
<p id="done" role="status" hidden></p>
<form id="token-form" hidden>
<label>Token <input type="password" id="token" autocomplete="off"></label>
<button>Use it</button>
</form>
<main>
<section id="node-view"><div id="cards"></div>
<h2>Behaviours</h2><div class="wide" tabindex="0" role="region" aria-label="Behaviours"><table id="behaviors"></table></div></section>
<section id="processes-view" hidden>
<form id="search-form" role="search">
<label>Search <input type="search" id="search" maxlength="200" placeholder="name or behaviour"></label>
<label>Rows <select id="limit"><option>50</option><option selected>100</option><option>500</option>
<option>1000</option></select></label>
<span id="count" role="status"></span>
</form>
<div class="wide" tabindex="0" role="region" aria-label="Processes"><table id="processes"></table></div>
</section>
<section id="pools-view" hidden><div id="pools"></div></section>
<section id="tree-view" hidden>
<p><span id="tree-count" role="status"></span> <button id="tree-top" hidden>Show the whole node</button></p>
<div class="wide" tabindex="0" role="region" aria-label="Supervision tree"><table id="tree"></table></div>
</section>
<section id="waits-view" hidden>
<p id="waits-count" role="status"></p>
<div class="wide" tabindex="0" role="region" aria-label="Who waits for whom"><table id="waits"></table></div>
</section>
<section id="events-view" hidden>
<h2>Events</h2><p id="events-count" role="status"></p>
<div class="wide" tabindex="0" role="region" aria-label="Events"><table id="events"></table></div>
<h2>Groups</h2><p id="groups-count" role="status"></p>
<div class="wide" tabindex="0" role="region" aria-label="Groups"><table id="groups"></table></div>
</section>
<section id="cluster-view" hidden>
<p id="cluster-count" role="status"></p>
<div class="wide" tabindex="0" role="region" aria-label="Connections"><table id="cluster"></table></div>
</section>
<div id="process" role="region" aria-label="One process" hidden tabindex="-1"></div>
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
[hidden] { display: none !important; }
body { margin: 0; background: var(--back); color: var(--front); font: 15px/1.45 system-ui, sans-serif; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; align-items: center; padding: .6rem 1rem;
  border-bottom: 1px solid var(--line); }
h1 { font-size: 1.05rem; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1rem; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; flex: 1; }
@media (max-width: 600px) { nav { order: 1; flex-basis: 100%; } h1 { flex: 1; } }
a { color: var(--accent); }
a[aria-current] { color: inherit; font-weight: 600; }
main { padding: 1rem; max-width: 1400px; margin: 0 auto; }
#done { margin: 0; padding: .5rem 1rem; border-bottom: 1px solid var(--line); }
tr.circle td { border-left: 0; color: var(--busy); }
tr.circle td:first-child { box-shadow: inset 4px 0 var(--busy); }
tr.circle td button { color: inherit; text-decoration: underline; }
.actions { display: flex; flex-wrap: wrap; gap: .5rem; margin: .5rem 0; }
button { cursor: pointer; }
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
th button, td button, h2 button { all: unset; cursor: pointer; color: var(--accent); }
th button[aria-pressed=true] { font-weight: 700; text-decoration: underline; }
:focus-visible, th button:focus-visible, td button:focus-visible, h2 button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
form { display: flex; flex-wrap: wrap; gap: .75rem; align-items: center; margin: 0 0 .75rem; }
#token-form { padding: 1rem; }
input, select, button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
  border-radius: 4px; padding: .2rem .4rem; }
#process { background: var(--card); border-radius: 6px; padding: .75rem 1rem; margin-top: 1rem; }
h2, dt, #problem, #done { overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: fit-content(40%) 1fr; gap: .15rem 1rem; margin: 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.pool { margin-bottom: 1.5rem; }
.members { display: grid; grid-template-columns: repeat(auto-fill, minmax(170px, 1fr)); gap: .3rem .8rem; }
.member { font-size: .8rem; color: var(--soft); }
.track { height: .7rem; background: var(--card); border: 1px solid var(--line); border-radius: 3px; }
.track div { height: 100%; background: var(--idle); }
.member.busy .track div { background: var(--busy); }
)page";

}  // namespace

std::string_view PageText() { return kPageText; }
std::string_view PageStyle() { return kPageStyle; }

}  // namespace ergon::node
